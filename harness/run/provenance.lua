-- Where a measured number comes from: the columns that every row of runs.csv and timings.csv and
-- every line of bench.csv has of the source, the build and the machine.
local core = require "longhaul.core"

local provenance = {}

--- Commit, whether tracked files differed from it (yes, no, unknown), compiler with flags, the CPU
--- kernels' instruction set, OpenBLAS with version and core, processor, its cores, the threads in
--- use, the load of the last minute at the start (of a timing round: what others used during it),
--- and the moment.
provenance.columns = { "code_version", "dirty", "compiler", "kernels", "blas", "machine", "cores",
  "threads", "load", "date" }

local gpus = {}

--- What the column `machine` says of a run on a device: the processor and, where one computes, the
--- GPU.
function provenance.machine_name(machine, device)
  if not device or device == "cpu" then return machine.cpu end
  gpus[device] = gpus[device] or core.device_name(device)
  return machine.cpu .. " with " .. gpus[device]
end

--- What records of this machine and a device say of it: machine, kernels.
function provenance.here(machine, device)
  return { machine = provenance.machine_name(machine, device), kernels = machine.kernels }
end

--- Whether two records are of one machine with the same kernels: processors of one name may have
--- other instructions, and steps that take another time.
function provenance.are_of_one_machine(a, b)
  return a.machine == b.machine and a.kernels == b.kernels
end

--- Puts what a record does not say of these columns into it; gives it back.
function provenance.fill(record, machine)
  machine = machine or core.machine()
  local here = provenance.here(machine, record.device)
  here.code_version, here.dirty = machine.version, machine.dirty
  here.compiler = machine.compiler .. " " .. machine.compiler_flags
  here.blas, here.cores, here.threads = machine.blas, machine.cores, machine.threads
  here.load, here.date = core.load_average(), os.date "!%Y-%m-%dT%H:%M:%SZ"
  for _, name in ipairs(provenance.columns) do
    if record[name] == nil then record[name] = here[name] end
  end
  return record
end

return provenance
