-- Public corpora: where they are, under which terms, and what to do with the file. The checksums are those of the archives
-- as many projects have recorded them. Where none stands, fetch prints the file's sha256, keeps it beside the file, and
-- checks it from then on.
return {
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
    name = "pg19", licence = "books before 1919, public domain",
    -- a bucket with train/, validation/ and test/, one book a file
    bucket = "https://storage.googleapis.com/storage/v1/b/deepmind-gutenberg/o",
    download = "https://storage.googleapis.com/deepmind-gutenberg/",
    folders = { { "train", "train" }, { "validation", "valid" }, { "test", "test" } },
  },
}
