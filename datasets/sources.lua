-- Public corpora: where they are, under which terms, and what to do with the file. No checksum stands here that
-- we have not verified ourselves: fetch prints the file's sha256 and keeps it beside the file, and checks it from then on.
return {
  {
    name = "enwik8", licence = "Wikipedia text, CC BY-SA", bytes = 100000000,
    files = { { url = "http://mattmahoney.net/dc/enwik8.zip", file = "enwik8.zip", unpack = "unzip" } },
  },
  {
    name = "text8", licence = "Wikipedia text, CC BY-SA", bytes = 100000000,
    files = { { url = "http://mattmahoney.net/dc/text8.zip", file = "text8.zip", unpack = "unzip" } },
  },
  {
    name = "wikitext-103", licence = "Wikipedia text, CC BY-SA",
    files = { { url = "https://wikitext.smerity.com/wikitext-103-v1.zip", file = "wikitext-103-v1.zip", unpack = "unzip" } },
  },
  {
    name = "pg19", licence = "books before 1919, public domain",
    -- a bucket with train/, validation/ and test/, one book a file
    bucket = "https://storage.googleapis.com/storage/v1/b/deepmind-gutenberg/o",
    download = "https://storage.googleapis.com/deepmind-gutenberg/",
    folders = { { "train", "train" }, { "validation", "valid" }, { "test", "test" } },
  },
}
