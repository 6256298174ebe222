-- Public corpora: where they are, under which terms, and what to do with the file. The checksums are those of the archives
-- as many projects have recorded them. Where none stands, fetch prints the file's sha256, keeps it beside the file, and
-- checks it from then on.
local function gpt2(name, weights)
  local encodings = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/"
  return {
    name = name, licence = "GPT-2 weights and vocabulary, MIT",
    files = {
      { url = encodings .. "encoder.json", file = "encoder.json",
        sha256 = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783" },
      { url = encodings .. "vocab.bpe", file = "vocab.bpe",
        sha256 = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5" },
      { url = ("https://huggingface.co/openai-community/%s/resolve/main/model.safetensors"):format(name),
        file = "model.safetensors", sha256 = weights },
    },
  }
end

-- A model of CodeT5: its vocabulary, and its weights in PyTorch's format.
local function codet5(name)
  local files = { { file = "vocab.json" }, { file = "merges.txt" }, { file = "pytorch_model.bin", unpack = "pytorch" } }
  for _, file in ipairs(files) do
    file.url = ("https://huggingface.co/Salesforce/%s/resolve/main/%s"):format(name, file.file)
  end
  return { name = name, licence = "CodeT5 weights and vocabulary, Apache-2.0", files = files }
end

-- Electricity transformers, at the commit whose files have these sums; ETTm1 as it is since March 2021.
local function ett(name, sum)
  local folder = "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/1d16c8f4f943005d613b5bc962e9eeb06058cf07/ETT-small/"
  return {
    name = name, licence = "Electricity Transformer Dataset, CC BY-ND 4.0",
    files = { { url = folder .. name .. ".csv", file = name .. ".csv", sha256 = sum } },
  }
end

return {
  gpt2("gpt2", "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707"),
  gpt2 "gpt2-medium", gpt2 "gpt2-large", gpt2 "gpt2-xl", codet5 "codet5-small", codet5 "codet5-base",
  {
    name = "enwik8", licence = "Wikipedia text, CC BY-SA", bytes = 100000000,
    files = { { url = "http://mattmahoney.net/dc/enwik8.zip", file = "enwik8.zip", unpack = "unzip",
      sha256 = "547994d9980ebed1288380d652999f38a14fe291a6247c157c3d33d4932534bc" } },
  },
  {
    name = "text8", licence = "Wikipedia text, CC BY-SA", bytes = 100000000,
    files = { { url = "http://mattmahoney.net/dc/text8.zip", file = "text8.zip", unpack = "unzip",
      sha256 = "a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232" } },
  },
  {
    name = "wikitext-103", licence = "Wikipedia text, CC BY-SA",
    files = { { url = "https://wikitext.smerity.com/wikitext-103-v1.zip", file = "wikitext-103-v1.zip", unpack = "unzip",
      sha256 = "242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590" } },
  },
  {
    -- all words, for sub-word models such as GPT-2
    name = "wikitext-103-raw", licence = "Wikipedia text, CC BY-SA",
    files = { { url = "https://wikitext.smerity.com/wikitext-103-raw-v1.zip", file = "wikitext-103-raw-v1.zip",
      unpack = "unzip", sha256 = "91c00ae287f0d699e18605c84afc9e45c192bc6b7797ff8837e5474655a33794" } },
  },
  {
    name = "pg19", licence = "books before 1919, public domain",
    -- a bucket with train/, validation/ and test/, one book a file
    bucket = "https://storage.googleapis.com/storage/v1/b/deepmind-gutenberg/o",
    download = "https://storage.googleapis.com/deepmind-gutenberg/",
    folders = { { "train", "train" }, { "validation", "valid" }, { "test", "test" } },
  },
  ett("ETTh1", "f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066"),
  ett("ETTh2", "a3dc2c597b9218c7ce1cd55eb77b283fd459a1d09d753063f944967dd6b9218b"),
  ett("ETTm1", "6ce1759b1a18e3328421d5d75fadcb316c449fcd7cec32820c8dafda71986c9e"),
  {
    -- Informer's WTH.csv, not the later "weather.csv"
    name = "Weather", licence = "NOAA local climatological data, public domain",
    files = { { url = "https://raw.githubusercontent.com/COMP6258-Reproducibility-Challenge/COMP6258-Encoding-Recurrence-into-"
      .. "Transformers/main/rsa-Informer/data/ETT/WTH.csv", file = "WTH.csv",
      sha256 = "153fead3ea2a83dc5c4127d3994af6b167322f6f5e292c99491f43a2caf14cd4" } },
  },
} -- end of the sources
