-- Gives the jobs of berth's partitions to berth: what they ask goes into their admin_comment, which
-- users cannot change, and they are held until berth lets them run. For JobSubmitPlugins=lua.
--
-- Users say what they need by berth's SPANK plugin, sbatch --vram=20G --class=short job.sh, or by
-- words in --comment, sbatch --comment="vram=20G class=short" job.sh:
--   vram=SIZE     GPU memory on each GPU; without it a job gets whole GPUs
--   gpus=N        1 unless said; --gpus=N, --gpus-per-node=N and --gres=gpu:N mean the same
--   class=WORD    short, medium, long or service

local partitions = { gpu = true } -- berth's; the same as berth-slurm --partitions
local limits_file = "/run/berth-slurm.limits" -- that of berth-slurm --limits; may be absent
local classes = { short = true, medium = true, long = true, service = true }

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

local function refuse(text)
  slurm.log_user("berth: %s", text)
  return slurm.ERROR
end

local function is_said(value) return value ~= nil and value ~= "" end

-- The partition that a job is for, or nil where it is none of berth's; and why that cannot be.
local function partition_of(asked, part_list)
  if not is_said(asked) then
    for name, partition in pairs(part_list) do
      if partition.flag_default == 1 then return partitions[name] and name or nil end
    end
    return nil
  end
  local ours, all = nil, 0
  for name in asked:gmatch("[^,]+") do
    all = all + 1
    if partitions[name] then ours = name end
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
        return nil, option .. ": " .. asked .. ": ask once for N GPUs, by --gpus=N, and by vram=SIZE"
          .. " for memory on each; cores and memory by --cpus-per-task and --mem"
      end
      if times == 0 or times >= slurm.NO_VAL16 then times = 1 end -- not said
      gpus = count * times
    end
  end
  return gpus
end

-- Unit bytes in GiB.
local units = { k = 1 / 1048576, m = 1 / 1024, g = 1, t = 1024 }

local function check_size(word, text)
  local number, unit = text:match("^(%d+%.?%d*)([KMGTkmgt])i?[Bb]?$")
  if number == nil then return word .. ": a size has a unit, as vram=20G" end
  local most = limits().gib
  if most ~= nil and tonumber(number) * units[unit:lower()] > most then
    return word .. ": the largest GPU has " .. most .. " GiB"
  end
end

-- By name, from the comment and then from what the SPANK plugin passed on.
local function words_of(job)
  local words = {}
  for word in (job.comment or ""):gmatch("%S+") do
    local key, value = word:match("^(%a+)=(%S+)$")
    if key ~= nil then words[key] = value end
  end
  for _, said in pairs(job.spank_job_env or {}) do
    local name, value = said:match("^BERTH_(%u+)=(.+)$")
    if name ~= nil then words[name:lower()] = value end
  end
  return words
end

local function note_of(job)
  local note = { gpus = 1, class = "medium" }
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
  note.gpus = count or tonumber(words.gpus) or note.gpus
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

function slurm_job_submit(job, part_list, submit_uid)
  local partition, why = partition_of(job.partition, part_list)
  if why ~= nil then return refuse(why) end
  if partition == nil then return slurm.SUCCESS end
  if submit_uid == 0 and (job.admin_comment or ""):match("^berth ") then return slurm.SUCCESS end
  if is_said(job.req_nodes) then
    return refuse("--nodelist=" .. job.req_nodes .. ": berth chooses the node")
  end
  if is_said(job.exc_nodes) then
    return refuse("--exclude=" .. job.exc_nodes .. ": berth chooses the node")
  end
  local note
  note, why = note_of(job)
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
function slurm_job_modify(job, record, part_list, modify_uid)
  if modify_uid == 0 then return slurm.SUCCESS end
  for name in (job.partition or ""):gmatch("[^,]+") do
    if partitions[name] then
      return refuse("--partition=" .. job.partition .. ": jobs for " .. name
        .. " are submitted to it, not moved")
    end
  end
  if not partitions[record.partition or ""] then return slurm.SUCCESS end
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

return slurm.SUCCESS
