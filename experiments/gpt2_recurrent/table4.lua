-- Adding Recurrence to Pretrained Transformers, Table 4: continuations in which people of the
-- window before appear. The paper's rows are not in its text; here samples are drawn, since greedy
-- decoding soon repeats itself (section 5.3).
local lh = require "longhaul"
return lh.include "samples.lua"("gpt2_recurrent-table4", 0.8)
