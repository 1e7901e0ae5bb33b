-- Gives the jobs of berth's partitions to berth: what they ask goes into their admin_comment, which
-- users cannot change, and they are held until berth lets them run. For JobSubmitPlugins=lua.
--
-- Users say what they need in --comment, as words: sbatch --comment="vram=20G class=short" job.sh
--   vram=SIZE     GPU memory on each GPU; without it a job gets whole GPUs
--   gpus=N        1 unless said; --gres=gpu:N and --gpus-per-node=N mean the same
--   class=WORD    short, medium, long or service

local partitions = { gpu = true } -- berth's; the same as berth-slurm --partitions
local classes = { short = true, medium = true, long = true, service = true }

local function refuse(text)
  slurm.log_user("berth: %s", text)
  return slurm.ERROR
end

-- Returns: GPUs asked for by Slurm's own options, or nil; and why that cannot be.
local function gpus_of(gres)
  if gres == nil or gres == "" then return nil end
  local count = gres:match("^gres:gpu:(%d+)$") or gres:match("^gpu:(%d+)$")
  if gres == "gres:gpu" or gres == "gpu" then count = 1 end
  if count == nil then return nil, "--gres=" .. gres .. ": ask gpu:N, and memory by vram=SIZE" end
  return tonumber(count)
end

local function note_of(job)
  local note = { gpus = 1, class = "medium" }
  local count, why = gpus_of(job.tres_per_node)
  if why ~= nil then return nil, why end
  note.gpus = count or note.gpus
  for word in (job.comment or ""):gmatch("%S+") do
    local key, value = word:match("^(%a+)=(%S+)$")
    if key == "vram" then
      if not value:match("^%d+%.?%d*[KMGTkmgt]i?[Bb]?$") then
        return nil, word .. ": a size has a unit, as vram=20G"
      end
      note.vram = value
    elseif key == "gpus" then
      if not value:match("^%d+$") then return nil, word .. ": is no number" end
      note.gpus = tonumber(value)
    elseif key == "class" then
      if not classes[value] then return nil, word .. ": short, medium, long or service" end
      note.class = value
    end
  end
  return note
end

function slurm_job_submit(job, part_list, submit_uid)
  if not partitions[job.partition or "gpu"] then return slurm.SUCCESS end
  if submit_uid == 0 and (job.admin_comment or ""):match("^berth ") then return slurm.SUCCESS end
  if job.req_nodes ~= nil and job.req_nodes ~= "" then
    return refuse("--nodelist=" .. job.req_nodes .. ": berth chooses the node")
  end
  if job.exc_nodes ~= nil and job.exc_nodes ~= "" then
    return refuse("--exclude=" .. job.exc_nodes .. ": berth chooses the node")
  end
  local note, why = note_of(job)
  if note == nil then return refuse(why) end
  local text = "berth"
  if note.vram ~= nil then text = text .. " vram=" .. note.vram end
  text = text .. " gpus=" .. note.gpus .. " class=" .. note.class
  if job.priority == 0 then text = text .. " held" end
  job.admin_comment = text
  if job.tres_per_node ~= nil then job.tres_per_node = nil end
  job.priority = 0
  return slurm.SUCCESS
end

-- What berth decides users cannot change; they may cancel, hold and rename.
function slurm_job_modify(job, record, part_list, modify_uid)
  if modify_uid == 0 or not partitions[record.partition or ""] then return slurm.SUCCESS end
  if job.req_nodes ~= nil or job.tres_per_node ~= nil or job.partition ~= nil then
    return refuse("berth chooses nodes and GPUs; they cannot be changed")
  end
  if job.priority ~= slurm.NO_VAL and job.priority ~= 0 then
    return refuse("berth lets the job run when it is its turn; its priority cannot be changed")
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
