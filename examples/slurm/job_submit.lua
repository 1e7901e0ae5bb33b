-- berth's words for Slurm, in one file that Slurm reads twice: as job_submit.lua beside the
-- controller's slurm.conf (JobSubmitPlugins=lua), and as cli_filter.lua beside each slurm.conf that
-- sbatch, srun and salloc read (CliFilterPlugins=cli_filter/lua).
--
-- Users say what they need by berth's SPANK plugin, sbatch --vram=20G job.sh, or by words in
-- --comment, sbatch --comment="vram=20G" job.sh:
--   vram=SIZE     GPU memory on each GPU; without it a job gets whole GPUs, if it asks for GPUs
--   gpus=N        as --gpus=N, beside vram=SIZE
--   class=WORD    short, medium, long or service
--
-- Slurm schedules: vram=20G becomes 20 shards of 1 GiB, or whole GPUs where Slurm has no way to
-- share them. Only the partitions in `held` are berth-slurm's: what their jobs ask goes into their
-- admin_comment, which users cannot change, and they are held until berth lets them run.

local held = {} -- as { gpu = true }; the same as berth-slurm --partitions
local limits_file = "/run/berth-slurm.limits" -- that of berth-slurm --limits; may be absent
local classes = { short = true, medium = true, long = true, service = true }

local function is_said(value) return value ~= nil and value ~= "" end

-- ---- Sizes and words ----------------------------------------------------------------------------

-- Unit bytes in GiB.
local units = { k = 1 / 1048576, m = 1 / 1024, g = 1, t = 1024 }

-- In whole GiB, rounded up; or nil, and why not.
local function size_of(text)
  local number, unit = text:match("^%s*(%d+%.?%d*)%s*([KMGTkmgt])[Ii]?[Bb]?%s*$")
  if number == nil then return nil, "a size has a unit, as vram=20G" end
  local size = math.ceil(tonumber(number) * units[unit:lower()])
  if size == 0 then return nil, "a job that needs no GPU memory asks for none" end
  return size
end

-- By name, of a comment: `vram=20G`, as people write it, as `(VRAM: 20 GB)` and `--vram="20G".`
local function words_in(comment)
  local words = {}
  local text = (comment or ""):gsub(
    "%f[%w][Vv][Rr][Aa][Mm]%s*>?[=:]%s*[\"']?(%d+%.?%d*)%s*([KMGTkmgt]?[Ii]?[Bb]?)%f[^%w]",
    " vram=%1%2 ")
  for word in text:gmatch("[^%s,;]+") do
    local key, value = word:match("^(%a+)=(%S+)$")
    if key ~= nil then words[key:lower()] = value end
  end
  return words
end

-- By name, from the comment and then from what the SPANK plugin passed on.
local function words_of(job)
  local words = words_in(job.comment)
  for _, said in pairs(job.spank_job_env or {}) do
    local name, value = said:match("^BERTH_(%u+)=(.+)$")
    if name ~= nil then words[name:lower()] = value end
  end
  return words
end

local thousands = { [""] = 1, k = 1024, m = 1024 ^ 2, g = 1024 ^ 3, t = 1024 ^ 4 }

-- Of a generic resource: 1024 is 1K, too. nil where it is a type.
local function count_of(text)
  local number, unit = text:match("^(%d+)([KMGTkmgt]?)$")
  return number and tonumber(number) * thousands[unit:lower()]
end

-- The parts of a request for generic resources, as `gres:gpu:a100:2,gres/shard=20`; `none` has
-- none.
local function parts_of(text)
  local parts = {}
  for word in (text:gsub("%b()", "")):gmatch("[^,]+") do
    local fields = {}
    for field in (word:gsub("^gres[:/]", "")):gmatch("[^:=]+") do fields[#fields + 1] = field end
    local part = { text = word, name = fields[1], count = 1 }
    local count = #fields > 1 and count_of(fields[#fields])
    if count then
      part.count = count
      fields[#fields] = nil
    end
    part.kind = fields[2]
    if word ~= "none" and part.name ~= "none" then parts[#parts + 1] = part end
  end
  return parts
end

-- ---- What slurm.conf says -----------------------------------------------------------------------

-- Slurm's names in lua tell its release: 24.11 has this one. It writes gres/gpu:1 where 22.05 has
-- gres:gpu:1, and gives whole GPUs beside shards of others, which 22.05 gets wrong.
local is_new = slurm.GRES_ONE_TASK_PER_SHARING ~= nil
local slash = is_new and "gres/" or "gres:"

-- `n[1-2,05],m7` as a set of names. What is no such list has none.
local function names_of(list)
  local names = {}
  local text = (list or ""):gsub("%b[]", function(ranges) return (ranges:gsub(",", ";")) end)
  for word in text:gmatch("[^,]+") do
    local stem, ranges, rest = word:match("^(.-)%[(.-)%](.*)$")
    if stem == nil then names[word] = true end
    for range in (ranges or ""):gmatch("[^;]+") do
      local from, to = range:match("^(%d+)%-?(%d*)$")
      local first = tonumber(from) or 1
      local last = from == nil and 0 or tonumber(to) or first
      for number = first, math.min(last, first + 65535) do
        names[stem .. string.format("%0" .. #from .. "d", number) .. rest] = true
      end
    end
  end
  return names
end

-- Nodes of one line: GiB of their GPUs, by model, or whether they have GPUs without shards.
local function take_nodes(found, names, gres)
  local gpus, shards = {}, {}
  for _, part in ipairs(parts_of(gres)) do
    local counts = part.name == "gpu" and gpus or part.name == "shard" and shards or {}
    local kind = part.kind or ""
    counts[kind] = (counts[kind] or 0) + part.count
  end
  local total = 0
  for _, count in pairs(gpus) do total = total + count end
  local node = { has = next(shards) ~= nil and "shards" or total > 0 and "whole" or "none" }
  for kind, count in pairs(shards) do
    local size = math.floor(count / (kind == "" and total or gpus[kind] or total))
    node.gib = math.max(node.gib or 0, size)
    found.kinds[kind] = math.max(found.kinds[kind] or 0, size)
  end
  if node.gib ~= nil then
    found.gib = math.max(found.gib or 0, node.gib)
    found.with_shards[#found.with_shards + 1] = names
  end
  for name in pairs(names_of(names)) do found.nodes[name] = node end
end

local function take_line(found, line, read)
  local words = {}
  for key, value in line:gmatch("(%w+)=(%S+)") do words[key:lower()] = value end
  if words.nodename ~= nil then
    take_nodes(found, words.nodename, words.gres or "")
  elseif words.partitionname ~= nil then
    found.partitions[words.partitionname] = words.nodes
    if (words.default or ""):lower() == "yes" then found.default = words.partitionname end
  elseif (words.selecttypeparameters or ""):upper():match("MULTIPLE_SHARING_GRES_PJ") then
    found.by_task = is_new
  end
  local other = line:match("^%s*[Ii]nclude%s+(%S+)")
  if other ~= nil then read(found, other) end
end

local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or ""

local function read_file(found, path)
  local file = io.open(path:sub(1, 1) == "/" and path or folder .. path)
  if file == nil then return found end
  local line = ""
  for part in file:lines() do
    line = line .. part:gsub("#.*$", "")
    if line:sub(-1) == "\\" then
      line = line:sub(1, -2)
    else
      take_line(found, line, read_file)
      line = ""
    end
  end
  file:close()
  return found
end

local known, known_at = nil, 0

-- gib: of the largest GPU; kinds: by model; with_shards: nodes; nodes: by name, what GPUs each has
-- (`shards`, `whole` or `none`) and of how many GiB; partitions: their nodes; default: the
-- partition; by_task: a job may have memory on several GPUs, for a task each.
local function cluster()
  local now = os.time()
  if known == nil or now < known_at or now >= known_at + 10 then
    local none = { with_shards = {}, kinds = {}, nodes = {}, partitions = {} }
    known, known_at = read_file(none, "slurm.conf"), now
  end
  return known
end

-- ---- What a job gets ----------------------------------------------------------------------------

-- Nodes of these partitions, or of the default one; nil where slurm.conf does not say them, as of
-- sets of nodes.
local function nodes_of(partitions)
  local all, names = cluster(), {}
  for partition in (is_said(partitions) and partitions or all.default or ""):gmatch("[^,]+") do
    local list = all.partitions[partition]
    if list == nil then return nil end
    local own = list:upper() == "ALL" and all.nodes or names_of(list)
    for name in pairs(own) do
      if all.nodes[name] == nil then return nil end
      names[name] = true
    end
  end
  return next(names) and names
end

-- Whether there are GPUs with `shards` and `whole` ones on the nodes that a job may use, and the
-- `gib` of the largest with shards. Nodes that it names must all do: they have one kind, or are
-- `mixed`.
local function open_to(where)
  local all, names, without = cluster(), nodes_of(where.partition), names_of(where.without)
  if is_said(where.only) then names = names_of(where.only) end
  if names == nil then return { shards = true, whole = true, gib = all.gib } end
  local found = {}
  for name in pairs(names) do
    local node = all.nodes[name] or { has = "none" }
    if not without[name] then
      found[node.has] = true
      if node.gib ~= nil then found.gib = math.max(found.gib or 0, node.gib) end
    end
  end
  if not is_said(where.only) then return found end
  local is_one = not (found.shards and found.whole) and not found.none
  return { shards = is_one and found.shards, whole = is_one and found.whole, mixed = not is_one,
    gib = found.gib }
end

-- A job's request in one form, of either side: `texts` has what it asks per node, job, task and
-- socket. `gpu:0` asks for none.
local function ask_of(texts, vram, shape)
  local ask = { vram = vram, gpus = {}, others = {}, tasks = shape.tasks, nodes = shape.nodes,
    has_nodes = shape.has_nodes, where = shape.where }
  for per, text in pairs(texts) do
    for _, part in ipairs(is_said(text) and parts_of(text) or {}) do
      if (part.name == "gpu" or part.name == "shard") and part.count == 0 then
        ask.none = part.text
      elseif part.name == "gpu" then
        ask.gpus[per] = (ask.gpus[per] or 0) + part.count
        ask.kind = part.kind or ask.kind
      elseif part.name == "shard" then
        ask.several = ask.shards ~= nil
        ask.shards, ask.kind = part.count, part.kind or ask.kind
        if per == "task" then ask.gpus.task = 1 end
      else
        ask.others[per] = (ask.others[per] and ask.others[per] .. "," or "") .. part.text
      end
    end
  end
  ask.total = ask.gpus.job or ask.gpus.task and ask.gpus.task * ask.tasks
    or ask.gpus.node and ask.gpus.node * ask.nodes
  return ask
end

-- Whole GPUs as the job asks for them. Slurm 22.05 gives them away where shards of them are taken.
local function whole(ask, said)
  local all = cluster()
  if is_new or ask.has_nodes or #all.with_shards == 0 then return { whole = true, said = said } end
  local open = open_to(ask.where)
  if open.whole and not open.shards then return { whole = true, said = said } end
  if open.whole then
    return { whole = true, said = said, exclude = table.concat(all.with_shards, ",") }
  end
  local size = ask.kind and all.kinds[ask.kind] or not ask.kind and open.gib
  if size and open.shards and (ask.total or 1) == 1 and ask.nodes == 1 and not ask.gpus.socket then
    return { shards = size, kind = ask.kind, per = "node", said = said }
  end
  if not open.shards and not open.mixed then return { whole = true, said = said } end
  return nil, "asks " .. (ask.total or "several") .. " GPUs: Slurm 22.05 gives a job several GPUs"
    .. " only on nodes without shards, and none is open to it"
end

local function too_large(ask, size)
  local all, open = cluster(), open_to(ask.where).gib
  local most = is_said(ask.kind) and all.kinds[ask.kind] or open or all.gib
  if most == nil or size <= most then return nil end
  return "a GPU has " .. most .. " GiB at most"
    .. (most < all.gib and " on the nodes that are open to it" or "")
end

-- Returns what it gets: `shards` for each node or task, or `whole`, or nothing; and what the user
-- is told. Or nil, and why it is refused.
local function plan(ask)
  local size = ask.vram or ask.shards
  if size == nil then
    if ask.total == nil and ask.gpus.socket == nil then return {} end
    return whole(ask)
  end
  local word = "--gres=shard:" .. (ask.shards or 0)
  if ask.vram then word = "--vram=" .. (ask.said or ask.vram .. "G") end
  if ask.none and ask.total == nil and ask.gpus.socket == nil then
    return nil, word .. ": is GPU memory of no GPU (" .. ask.none .. "); leave one of them out"
  end
  local why = too_large(ask, size)
  if why ~= nil then return nil, word .. ": " .. why end
  local all = cluster()
  if is_said(ask.kind) and all.kinds[ask.kind] == nil and next(all.kinds) ~= nil then
    return nil, word .. " on a GPU " .. ask.kind .. ": shards have no such type here; ask for the"
      .. " model by --constraint"
  end
  if ask.several and ask.vram == nil then
    if not all.by_task then return nil, "--gres: ask once for shards; they are of one GPU" end
    return nil, "--gres: ask once for shards; --ntasks=N --gpus-per-task=1 --vram=SIZE asks for"
      .. " N GPUs"
  end
  if #all.with_shards > 0 and not open_to(ask.where).shards then
    return nil, word .. ": no GPU with shards is open to it, by its partition and nodes; without"
      .. " GPU memory a job gets whole GPUs"
  end
  -- Slurm 22.05 never starts a job with shards that wants its node for itself.
  if ask.has_nodes and not is_new then
    if ask.total == nil and ask.gpus.socket == nil then ask.gpus.node = 1 end
    return whole(ask)
  end
  local one_each = ask.gpus.task == 1 or (ask.total or ask.nodes) == ask.tasks
  local one_per_node = not ask.gpus.socket and (ask.total or ask.nodes) == ask.nodes
  if all.by_task and one_each and not ask.gpus.socket then
    return { shards = size, kind = ask.kind, per = "task" }
  end
  if not all.by_task and one_per_node then
    return { shards = size, kind = ask.kind, per = "node" }
  end
  if ask.total == nil and ask.gpus.socket == nil then ask.gpus.node = 1 end
  local said = word .. ": the job gets whole GPUs; "
  if not all.by_task then
    said = said .. "Slurm shares one GPU for a job here"
  elseif one_per_node then
    said = said .. "one task with --cpus-per-task=" .. ask.tasks .. " would share one"
  else
    said = said .. "--ntasks=" .. (ask.total or 2) .. " --gpus-per-task=1 would share them"
  end
  return whole(ask, said)
end

-- What Slurm does not do with shards; it says no more than "Invalid generic resource".
local function only_of_gpus(tasks_per_gpu, has_clock)
  if tasks_per_gpu then return "--ntasks-per-gpu: where GPUs have shards, say --ntasks" end
  if has_clock then return "--gpu-freq: a GPU that has shards keeps its clock" end
end

local function shard_text(get)
  return "shard:" .. (is_said(get.kind) and get.kind .. ":" or "") .. get.shards
end

local function gpu_text(ask, per)
  return "gpu:" .. (is_said(ask.kind) and ask.kind .. ":" or "") .. ask.gpus[per]
end

-- ---- At the controller --------------------------------------------------------------------------

-- Slurm's own word follows: "Invalid generic resource (gres) specification".
local function refuse(text)
  slurm.log_user("berth: %s", text)
  return slurm.ESLURM_INVALID_GRES or 2072
end

-- A count; nil where it was not said.
local function number(value)
  if value == nil or value == 0 or value >= slurm.NO_VAL16 then return nil end
  return value
end

-- Tasks and nodes, as far as the job says them, and whether it is to be alone on its nodes.
local function shape_of(job)
  local nodes, per_node = number(job.min_nodes) or 1, number(job.ntasks_per_node)
  return { nodes = nodes, tasks = number(job.num_tasks) or (per_node or 1) * nodes,
    has_nodes = job.shared == slurm.JOB_SHARED_NONE,
    where = { partition = job.partition, only = job.req_nodes, without = job.exc_nodes } }
end

local fields = { node = "tres_per_node", job = "tres_per_job", task = "tres_per_task",
  socket = "tres_per_socket" }

local function texts_of(job)
  local texts = {}
  for per, field in pairs(fields) do texts[per] = job[field] end
  return texts
end

-- `gres:gpu:4` of --cpus-per-gpu and --mem-per-gpu, which mean nothing of a job that has shards.
local function count_per_gpu(text)
  return is_said(text) and tonumber(text:match("(%d+)$")) or nil
end

local function move_what_is_per_gpu(job, ask)
  local cpus, mem = count_per_gpu(job.cpus_per_tres), count_per_gpu(job.mem_per_tres)
  if cpus ~= nil then
    job.cpus_per_tres = ""
    job.cpus_per_task, job.min_cpus = cpus, cpus * ask.tasks
  end
  if mem ~= nil then
    job.mem_per_tres = ""
    job.min_mem_per_node = mem * math.ceil((ask.total or 1) / ask.nodes)
  end
end

local function set(job, field, text)
  if is_said(text) or job[field] ~= nil then job[field] = text or "" end
end

local function with_bit(flags, bit)
  return math.floor(flags / bit) % 2 == 0 and flags + bit or flags
end

local function without_bit(flags, bit)
  return math.floor(flags / bit) % 2 == 1 and flags - bit or flags
end

local function put_shards(job, ask, get)
  for per, field in pairs(fields) do set(job, field, ask.others[per]) end
  local field = fields[get.per]
  local rest = is_said(job[field]) and "," .. job[field] or ""
  job[field] = slash .. shard_text(get) .. rest
  move_what_is_per_gpu(job, ask)
  if get.per ~= "task" then return end
  if number(job.num_tasks) == nil then job.num_tasks = ask.tasks end
  if (job.tres_bind or ""):match("gpu") then job.tres_bind = "" end
  -- Without the first Slurm may spread the memory of a task over several GPUs.
  local flags = with_bit(job.bitflags or 0, slurm.GRES_ONE_TASK_PER_SHARING)
  job.bitflags = without_bit(flags, slurm.GRES_MULT_TASKS_PER_SHARING)
end

local function put_whole(job, ask, get)
  if get.exclude ~= nil then
    job.exc_nodes = (is_said(job.exc_nodes) and job.exc_nodes .. "," or "") .. get.exclude
  end
  if ask.vram == nil and ask.shards == nil then return end
  for per, field in pairs(fields) do
    local text = ask.gpus[per] and slash .. gpu_text(ask, per)
    local other = ask.others[per]
    set(job, field, text and other and text .. "," .. other or text or other)
  end
end

local function cannot_share(job)
  return only_of_gpus(number(job.ntasks_per_tres), is_said(job.tres_freq))
end

-- A job that asks for no GPU gets none. Other words than vram in its comment may be anybody's.
local function submit_native(job)
  local words = words_of(job)
  local vram, why
  if words.vram ~= nil then
    vram, why = size_of(words.vram)
    if vram == nil then return refuse("vram=" .. words.vram .. ": " .. why) end
  end
  local ask = ask_of(texts_of(job), vram, shape_of(job))
  ask.said = words.vram
  if words.gpus ~= nil and vram ~= nil and ask.total == nil then
    local gpus = tonumber(words.gpus:match("^%d+$"))
    if gpus == nil or gpus == 0 then
      return refuse("gpus=" .. words.gpus .. ": is no number of GPUs from 1 on")
    end
    ask.gpus.job, ask.total = gpus, gpus
    job.tres_per_job = slash .. "gpu:" .. gpus
  end
  local get
  get, why = plan(ask)
  if get == nil then return refuse(why) end
  if get.shards ~= nil then
    why = cannot_share(job)
    if why ~= nil then return refuse(why) end
    put_shards(job, ask, get)
  elseif get.whole then
    put_whole(job, ask, get)
  end
  if get.said ~= nil then slurm.log_user("berth: %s", get.said) end
  if vram == nil and (job.script or ""):match("\n#SBATCH[^\n]*%s%-%-vram[ =]") then
    slurm.log_user("berth: #SBATCH --vram is behind the script's first command, where Slurm reads"
      .. " no options: the job has no GPU memory by it")
  end
  return slurm.SUCCESS
end

-- A change of what a waiting job asks becomes what it would have become at submission.
local function modify_native(job, record)
  local texts = texts_of(job)
  if not is_said(texts.node) and not is_said(texts.task) and not is_said(texts.job) then
    return slurm.SUCCESS
  end
  local ask = ask_of(texts, nil, shape_of({
    min_nodes = number(job.min_nodes) or record.min_nodes,
    num_tasks = number(job.num_tasks) or record.num_tasks,
    ntasks_per_node = number(job.ntasks_per_node) or record.ntasks_per_node,
    partition = job.partition or record.partition,
    req_nodes = job.req_nodes or record.req_nodes,
  }))
  local get, why = plan(ask)
  if get == nil then return refuse(why) end
  local had = ""
  for _, field in pairs(fields) do had = had .. (record[field] or "") end
  if had ~= "" and (had:match("shard") ~= nil) ~= (get.shards ~= nil) then
    return refuse("shards and whole GPUs cannot be changed into each other; submit the job again")
  end
  for per, field in pairs(fields) do -- what it asked before is no part of it
    if is_said(record[field]) and not is_said(texts[per]) then job[field] = "" end
  end
  if get.shards ~= nil then
    put_shards(job, ask, get)
  elseif get.whole then
    put_whole(job, ask, get)
  end
  return slurm.SUCCESS
end

-- ---- Held partitions ----------------------------------------------------------------------------

-- What it says: `gib 80` of the largest GPU, and `gpus 32` in all.
local function limits()
  local found = {}
  local file = io.open(limits_file)
  if file == nil then return found end
  for line in file:lines() do
    local key, value = line:match("^(%a+) (%d+)$")
    if key ~= nil then found[key] = tonumber(value) end
  end
  file:close()
  return found
end

-- The partition that a job is for, or nil where it is none of berth's; and why that cannot be.
local function partition_of(asked, part_list)
  if not is_said(asked) then
    for name, partition in pairs(part_list) do
      if partition.flag_default == 1 then return held[name] and name or nil end
    end
    return nil
  end
  local ours, all = nil, 0
  for name in asked:gmatch("[^,]+") do
    all = all + 1
    if held[name] then ours = name end
  end
  if ours ~= nil and all > 1 then
    return nil, "--partition=" .. asked .. ": a job for " .. ours .. " is for no other partition"
  end
  return ours
end

-- GPUs in what an option asks, as gres:gpu:2 or gpu; nil where it asks for something else.
local function count_in(text)
  text = text:gsub("^gres[:/]", "")
  if text == "gpu" then return 1 end
  local count = text:match("^gpu[:=](%d+)$")
  return count and tonumber(count)
end

-- The fields by which Slurm asks for GPUs, and the options that users know them by. Those in per
-- node, task or socket are multiplied by as many as there are.
local function gpus_of(job)
  local fields = {
    { "tres_per_node", "--gres or --gpus-per-node", job.min_nodes },
    { "tres_per_job", "--gpus", 1 },
    { "tres_per_task", "--gpus-per-task", job.num_tasks },
    { "tres_per_socket", "--gpus-per-socket" },
    { "cpus_per_tres", "--cpus-per-gpu" },
    { "mem_per_tres", "--mem-per-gpu" },
  }
  local gpus = nil
  for _, field in ipairs(fields) do
    local name, option, times = field[1], field[2], field[3]
    local asked = job[name]
    if is_said(asked) then
      local count = times and count_in(asked)
      if count == nil or gpus ~= nil then
        return nil, option .. ": " .. asked .. ": ask once for N GPUs, by --gpus=N, and by"
          .. " vram=SIZE for memory on each; cores and memory by --cpus-per-task and --mem"
      end
      if times == 0 or times >= slurm.NO_VAL16 then times = 1 end -- not said
      gpus = count * times
    end
  end
  return gpus
end

local function check_size(word, text)
  local size, why = size_of(text)
  if size == nil then return word .. ": " .. why end
  local most = limits().gib
  if most ~= nil and size > most then return word .. ": the largest GPU has " .. most .. " GiB" end
end

local function note_of(job)
  local note = { class = "medium" }
  local count, why = gpus_of(job)
  if why ~= nil then return nil, why end
  local words = words_of(job)
  if words.vram ~= nil then
    why = check_size("vram=" .. words.vram, words.vram)
    if why ~= nil then return nil, why end
    note.vram = words.vram
  end
  if words.gpus ~= nil and not words.gpus:match("^%d+$") then
    return nil, "gpus=" .. words.gpus .. ": is no number"
  end
  note.gpus = count or tonumber(words.gpus) or words.vram and 1 or 0
  local most = limits().gpus
  if most ~= nil and note.gpus > most then
    return nil, "asks " .. note.gpus .. " GPUs, the cluster has " .. most
  end
  if words.class ~= nil and not classes[words.class] then
    return nil, "class=" .. words.class .. ": short, medium, long or service"
  end
  note.class = words.class or note.class
  return note
end

local function submit_held(job, submit_uid)
  if submit_uid == 0 and (job.admin_comment or ""):match("^berth ") then return slurm.SUCCESS end
  if is_said(job.req_nodes) then
    return refuse("--nodelist=" .. job.req_nodes .. ": berth chooses the node")
  end
  if is_said(job.exc_nodes) then
    return refuse("--exclude=" .. job.exc_nodes .. ": berth chooses the node")
  end
  local nodes = number(job.min_nodes) or 1
  if nodes > 1 then
    return refuse("--nodes=" .. nodes .. ": berth chooses the nodes; ask for GPUs by --gpus=N")
  end
  local note, why = note_of(job)
  if note == nil then return refuse(why) end
  local text = "berth"
  if note.vram ~= nil then text = text .. " vram=" .. note.vram end
  text = text .. " gpus=" .. note.gpus .. " class=" .. note.class
  if job.priority == 0 then text = text .. " held" end
  job.admin_comment = text
  if job.tres_per_node ~= nil then job.tres_per_node = "" end
  if job.tres_per_job ~= nil then job.tres_per_job = "" end
  if job.tres_per_task ~= nil then job.tres_per_task = "" end
  job.priority = 0
  return slurm.SUCCESS
end

-- What berth decides users cannot change; they may cancel, hold and rename.
local function modify_held(job, record)
  if is_said(job.partition) then
    return refuse("--partition=" .. job.partition .. ": the job is for " .. record.partition
      .. "; cancel it and submit it there")
  end
  for _, name in ipairs({ "req_nodes", "exc_nodes", "tres_per_node", "tres_per_job",
    "tres_per_task", "tres_per_socket" }) do
    if job[name] ~= nil then
      return refuse("berth chooses nodes and GPUs; they cannot be changed")
    end
  end
  if job.priority ~= slurm.NO_VAL and job.priority ~= 0 then
    return refuse("berth lets the job run when it is its turn; `berth release JOB` ends a hold")
  end
  if job.priority == 0 and record.priority == 0 then -- Slurm would say yes, and do nothing
    return refuse("berth holds the job until its turn; `berth hold JOB` keeps it longer")
  end
  return slurm.SUCCESS
end

-- ---- At the client ------------------------------------------------------------------------------

-- The controller decides. But an option that a client keeps is asked of each of the job's steps,
-- and a step gets no GPU of a job that has shards.
local options_per = { job = "gpus", node = "gpus-per-node", task = "gpus-per-task",
  socket = "gpus-per-socket" }

-- `2`, `a100:2` or `gpu:2` as a request for generic resources.
local function gpus_in(text)
  if text:match("^gpu") then return text end
  return "gpu:" .. text
end

local function option(options, name)
  local value = options[name]
  return is_said(value) and value or nil
end

local function texts_of_options(options)
  local texts = {}
  for per, name in pairs(options_per) do
    local text = option(options, name)
    texts[per] = text and gpus_in(text)
  end
  for per, name in pairs({ node = "gres", task = "tres-per-task" }) do
    local text = option(options, name)
    if text ~= nil then texts[per] = texts[per] and texts[per] .. "," .. text or text end
  end
  return texts
end

-- Slurm tells 1 task where none are said, and nodes as `2` or `1-4`.
local function shape_of_options(options)
  local nodes = tonumber((options["nodes"] or ""):match("^(%d+)")) or 1
  local tasks = tonumber(options["ntasks"]) or 1
  local per_node = tonumber(options["ntasks-per-node"]) or 0
  if tasks == 1 then tasks = nodes * math.max(per_node, 1) end
  return { nodes = nodes, tasks = tasks, has_nodes = options["exclusive"] == "exclusive",
    where = { partition = options["partition"], only = options["nodelist"],
      without = options["exclude"] } }
end

-- An empty text and not nil, which is an error to Slurm 22.05.
local function clear(options)
  for _, name in pairs(options_per) do
    if option(options, name) then options[name] = "" end
  end
  for _, name in ipairs({ "gres", "tres-per-task", "tres-bind" }) do
    if option(options, name) then options[name] = "" end
  end
end

-- What no filter can take back and Slurm would not do; nil if there is nothing.
local function cannot_clear(options)
  if (tonumber(options["cpus-per-gpu"]) or 0) > 0 then
    return "--cpus-per-gpu: with GPU memory say --cpus-per-task"
  end
  if option(options, "mem-per-gpu") then return "--mem-per-gpu: with GPU memory say --mem" end
  -- The tasks of such a step of 22.05 crash.
  if not is_new and option(options, "gpus-per-task") and tonumber(options["ntasks"]) > 1 then
    return "--gpus-per-task: leave it out; the job's tasks share one GPU of each node"
  end
end

-- Below 0 where it was not said.
local function has_tasks_per_gpu(options)
  local tasks = tonumber(options["ntasks-per-gpu"]) or 0
  return tasks > 0 and tasks < 65534
end

local function vram_of_options(options)
  local found, said = pcall(function() return options["spank"]["berth"]["vram"] end)
  said = found and is_said(said) and said or words_in(options["comment"]).vram
  return said and size_of(said)
end

local function is_for_held(options)
  local asked = option(options, "partition") or cluster().default or ""
  for name in asked:gmatch("[^,]+") do
    if held[name] then return true end
  end
  return false
end

local function put_options(options, ask, get)
  clear(options)
  if get.per == "task" then
    options["ntasks"] = tostring(ask.tasks) -- which Slurm wants to be said with it
    options["tres-per-task"] = "gres/" .. shard_text(get)
    if not (options["gres-flags"] or ""):match("multiple") then -- the controller takes that away
      options["gres-flags"] = "one-task-per-sharing"
    end
    if is_said(ask.others.node) then options["gres"] = ask.others.node end
  else
    options["gres"] = shard_text(get) .. (ask.others.node and "," .. ask.others.node or "")
  end
end

local vram_before = nil -- what --vram said of the component before, in a job of several

-- Slurm hands what one component says by --vram on to the next, even in place of an #SBATCH line
-- there. Only a size that differs was surely said of this one.
local function is_from_before(options, offset)
  local found, said = pcall(function() return options["spank"]["berth"]["vram"] end)
  said = found and is_said(said) and said or nil
  local is_same = offset > 0 and said ~= nil and said == vram_before
  vram_before = said
  return is_same
end

-- What srun asks of a held partition its step would ask once more, and shards are no GPUs: it goes
-- to the controller as a word.
local function filter_held(options)
  if options["type"] ~= "srun" then return end
  local total = ask_of(texts_of_options(options), nil, shape_of_options(options)).total
  if total == nil then return end
  for _, name in ipairs({ "gres", "gpus-per-task" }) do -- which cannot be cleared altogether
    if option(options, name) then return "--" .. name .. ": say --gpus=" .. total end
  end
  clear(options)
  local comment = option(options, "comment")
  options["comment"] = (comment and comment .. " " or "") .. "gpus=" .. total
end

-- Both return why the command is refused, if it is.
local function filter_job(options, offset)
  if is_for_held(options) then return filter_held(options) end
  if is_from_before(options, offset) then
    return "--vram=" .. vram_before .. ": Slurm gives it to the job's next component, too; for each"
      .. " component with GPU memory say --gres=shard:GIB"
  end
  local ask = ask_of(texts_of_options(options), vram_of_options(options), shape_of_options(options))
  local get = plan(ask) or {}
  if get.shards ~= nil then
    local why = only_of_gpus(has_tasks_per_gpu(options), option(options, "gpu-freq"))
    if why ~= nil then return why end
    why = cannot_clear(options)
    if why ~= nil and options["type"] ~= "sbatch" then return why end
    if why == nil then put_options(options, ask, get) end -- else the controller and the plugin do
  elseif get.whole and ask.shards ~= nil then
    clear(options)
    for per, name in pairs(options_per) do
      if ask.gpus[per] then options[name] = gpu_text(ask, per):gsub("^gpu:", "") end
    end
  end
end

-- The job of a step: that of the environment, or that of `srun --jobid=7`, which is "unset" where
-- it was not said. nil for a job of its own.
local function job_of_step(options)
  if options["type"] ~= "srun" then return nil end
  return tonumber(options["jobid"] or "") or tonumber(os.getenv("SLURM_JOB_ID") or "")
end

-- The shards of this job, as `shard:20`: of each task, and of each node; and how many tasks or
-- nodes it has. On a node Slurm tells them; in salloc's shell, and of another job, it does not.
local function shards_of_job(job)
  if job == tonumber(os.getenv("SLURM_JOB_ID") or "") then
    local each = (os.getenv("SLURM_TRES_PER_TASK") or ""):match("shard[:=][%w:]+")
    local there = os.getenv("SLURM_SHARDS_ON_NODE")
    if each ~= nil or there ~= nil then
      local most = tonumber(os.getenv(each and "SLURM_NTASKS" or "SLURM_JOB_NUM_NODES") or "")
      return each, there and "shard:" .. there, most
    end
    if os.getenv("SLURM_GPUS_ON_NODE") ~= nil then return nil end
  end
  local pipe = io.popen(string.format("scontrol -o show job %d", job))
  local text = pipe:read("*a")
  pipe:close()
  local shards = "=%S*(shard[:=][%w:]+)"
  local each, there = text:match("TresPerTask" .. shards), text:match("TresPerNode" .. shards)
  return each, there, tonumber(text:match(each and "NumTasks=(%d+)" or "NumNodes=(%d+)") or "")
end

-- `srun --gpus=1` and the like in a job that has shards.
local function filter_step(options, job)
  local texts = texts_of_options(options)
  if not (texts.task or ""):match("gpu") then texts.task = nil end -- the job's, by the environment
  local ask = ask_of(texts, nil, { tasks = 1, nodes = 1, where = {} })
  local per_gpu = has_tasks_per_gpu(options)
  if ask.total == nil and ask.gpus.socket == nil and ask.none == nil and not per_gpu
    or ask.gpus.node and ask.shards then return end
  local each, there, most = shards_of_job(job)
  if each == nil and there == nil then return end
  local why = only_of_gpus(per_gpu) or cannot_clear(options)
  if why ~= nil then return why end
  if most ~= nil and (ask.gpus.job or 0) > most or each == nil and (ask.gpus.node or 0) > 1 then
    return "asks " .. ask.total .. " GPUs, the job has memory on " .. (most or 1)
  end
  clear(options)
  if ask.total == nil and ask.gpus.socket == nil then
    options["gres"] = "none"
    return
  end
  if each ~= nil then
    options["tres-per-task"] = "gres/" .. each
  else
    options["gres"] = there
  end
end

-- ---- What Slurm calls ---------------------------------------------------------------------------

function slurm_job_submit(job, part_list, submit_uid)
  local partition, why = partition_of(job.partition, part_list)
  if why ~= nil then return refuse(why) end
  if partition ~= nil then return submit_held(job, submit_uid) end
  return submit_native(job)
end

function slurm_job_modify(job, record, part_list, modify_uid)
  if held[record.partition or ""] then
    return modify_uid == 0 and slurm.SUCCESS or modify_held(job, record)
  end
  for name in (job.partition or ""):gmatch("[^,]+") do
    if held[name] and modify_uid ~= 0 then
      return refuse("--partition=" .. job.partition .. ": jobs for " .. name
        .. " are submitted to it, not moved")
    end
  end
  return modify_native(job, record)
end

function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end

function slurm_cli_pre_submit(options, offset)
  local job = job_of_step(options)
  local why
  if job ~= nil then why = filter_step(options, job) else why = filter_job(options, offset) end
  if why == nil then return slurm.SUCCESS end
  io.stderr:write(options["type"], ": error: berth: ", why, "\n")
  return slurm.ERROR
end

function slurm_cli_post_submit(offset, job, step) return slurm.SUCCESS end

return slurm.SUCCESS
