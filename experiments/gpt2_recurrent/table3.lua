-- Adding Recurrence to Pretrained Transformers, Table 3: continuations that follow the topic of a
-- window that is only known through the recurrence, by the likeliest tokens.
local lh = require "longhaul"
return lh.include "samples.lua"("gpt2_recurrent-table3", 0)
