/* Sub-word tokens through the SentencePiece library; the only C++ file, because the library has no
 * C interface.
 *
 * T5's model collapses runs of blanks and newlines, so decoding gives the words back but not the
 * layout. */
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" {
#include "datasets/digest.h"
#include "datasets/locate.h"
#include "datasets/tokens/sentencepiece.h"
#include "datasets/tokens/tokenizer_class.h"
#include "harness/engine/utf8.h"
}

namespace {

// T5's 32,000 pieces stand in a table of 32,128 rows: 100 extra ids and padding (seqio's rule).
constexpr int64_t t5_pieces = 32000, t5_rows = 32128;

// Of a text one byte in so many may be of characters that the model lacks. T5's pieces lack braces,
// and papers' bits per byte with it count them; of more, <unk> stands in for what nothing pays for.
constexpr int64_t bytes_per_unknown = 20;

// Bytes of a line; longer ones are left out of training.
constexpr int longest_line = 16384;

using sentencepiece::SentencePieceProcessor;

// For the catch of whatever C calls: what is thrown would end the program there.
lh_status no_memory() {
    return lh_fail(LH_EMEMORY, "out of memory for SentencePiece");
}

// "pg19-32k" is a file of the data folders, "x/y.model" a path.
lh_status find_model(const char *argument, std::string &path) {
    const std::string name(argument);
    const bool file = name.size() > 6 && name.compare(name.size() - 6, 6, ".model") == 0;
    char *found = nullptr;
    if (!file) LH_TRY(lh_data_find(("sentencepiece/" + name + ".model").c_str(), &found));
    if (file || found != nullptr) path = file ? name : found;
    std::free(found);
    if (!path.empty()) return LH_OK;
    return lh_fail(
        LH_EIO,
        "no tokenizer model '%s': expected a file that ends in .model, or %s.model in the folder "
        "sentencepiece of the data folders",
        argument, argument);
}

lh_status open_model(const char *argument, uint64_t *digest, void **instance) try {
    std::string path;
    LH_TRY(find_model(argument, path));
    LH_TRY(lh_digest_file(path.c_str(), digest));
    auto *processor = new (std::nothrow) SentencePieceProcessor;
    if (processor == nullptr) return lh_fail(LH_EMEMORY, "out of memory for a tokenizer");
    const auto status = processor->Load(path);
    if (status.ok()) {
        *instance = processor;
        return LH_OK;
    }
    delete processor;
    return lh_fail(LH_EFORMAT, "%s: %s", path.c_str(), status.ToString().c_str());
} catch (const std::bad_alloc &) {
    return no_memory();
}

void close_model(void *instance) {
    delete static_cast<SentencePieceProcessor *>(instance);
}

const SentencePieceProcessor *model_of(const void *instance) {
    return static_cast<const SentencePieceProcessor *>(instance);
}

int64_t vocabulary(const void *instance) {
    const int64_t pieces = model_of(instance)->GetPieceSize();
    return pieces == t5_pieces ? t5_rows : pieces;
}

int32_t end(const void *instance) {
    const auto *model = model_of(instance);
    return model->pad_id() == 0 && model->eos_id() > 0 ? model->eos_id() : 0;
}

lh_status encode(const void *instance, const char *text, size_t bytes, int32_t **tokens,
                 int64_t *count) try {
    const size_t good = lh_utf8_length(text, bytes);
    if (good < bytes) {
        return lh_fail(LH_EFORMAT, "not UTF-8 at byte %zu; use tokens = \"bytes\" for such data",
                       good);
    }
    std::vector<int> ids;
    const auto status = model_of(instance)->Encode(absl::string_view(text, bytes), &ids);
    if (!status.ok()) return lh_fail(LH_EFORMAT, "%s", status.ToString().c_str());
    auto *made = static_cast<int32_t *>(lh_allocate(ids.size() * sizeof(int32_t)));
    if (made == nullptr) return LH_EMEMORY;
    for (size_t i = 0; i < ids.size(); ++i)
        made[i] = ids[i];
    *tokens = made;
    *count = static_cast<int64_t>(ids.size());
    return LH_OK;
} catch (const std::bad_alloc &) {
    return no_memory();
}

// Neighbours that the model lacks are one <unk>, however many: their bytes count, not their tokens.
// A text without <unk> is not encoded again.
int64_t unspelled(const void *instance, const char *text, size_t bytes, const int32_t *tokens,
                  int64_t count) try {
    const auto *model = model_of(instance);
    std::vector<std::string> pieces; // of <unk> what it stands for
    int64_t unknown = 0;
    if (std::find(tokens, tokens + count, model->unk_id()) == tokens + count) return 0;
    if (!model->Encode(absl::string_view(text, bytes), &pieces).ok()) return LH_UNSPELLED;
    for (const auto &piece : pieces)
        if (model->PieceToId(piece) == model->unk_id())
            unknown += static_cast<int64_t>(piece.size());
    return unknown * bytes_per_unknown;
} catch (const std::bad_alloc &) {
    (void)no_memory();
    return LH_UNSPELLED;
}

// Rows beyond the pieces stand for no text; the library refuses them.
lh_status decode(const void *instance, const int32_t *tokens, int64_t count, char **text,
                 size_t *bytes) try {
    std::string joined;
    std::vector<int> ids(tokens, tokens + count);
    const int pieces = model_of(instance)->GetPieceSize();
    ids.erase(std::remove_if(ids.begin(), ids.end(), [=](int id) { return id >= pieces; }),
              ids.end());
    const auto status = model_of(instance)->Decode(ids, &joined);
    if (!status.ok()) return lh_fail(LH_EFORMAT, "%s", status.ToString().c_str());
    auto *made =
        static_cast<char *>(lh_allocate(joined.size() + 1)); // a piece may hold a zero byte
    if (made == nullptr) return LH_EMEMORY;
    std::memcpy(made, joined.c_str(), joined.size() + 1);
    *text = made;
    *bytes = joined.size();
    return LH_OK;
} catch (const std::bad_alloc &) {
    return no_memory();
}

// The library reads a list of files as a line of CSV, in which a path may hold a comma in quotes.
std::string quoted(const std::string &path) {
    std::string field = "\"";
    for (const char c : path)
        field.append(c == '"' ? 2 : 1, c);
    return field + '"';
}

} // namespace

extern "C" {

extern const lh_tokenizer_class lh_tokens_sentencepiece;
const lh_tokenizer_class lh_tokens_sentencepiece = {
    "sentencepiece:", true,    open_model, close_model, end,
    vocabulary,       nullptr, encode,     decode,      unspelled};

lh_status lh_sentencepiece_train(const char *text_file, const char *prefix, int64_t pieces) try {
    // a command line in one text would be logged before its log level is read
    const std::unordered_map<std::string, std::string> options = {
        {"input", quoted(text_file)},
        {"model_prefix", prefix},
        {"vocab_size", std::to_string(pieces)},
        {"hard_vocab_limit", "false"},
        {"pad_id", "0"},
        {"eos_id", "1"},
        {"unk_id", "2"},
        {"bos_id", "-1"},
        {"input_sentence_size", "200000"},
        {"shuffle_input_sentence", "false"},
        {"max_sentence_length", std::to_string(longest_line)},
        {"minloglevel", "2"},
        {"num_threads", "2"},
    };
    const auto status = sentencepiece::SentencePieceTrainer::Train(options);
    if (status.ok()) return LH_OK;
    return lh_fail(LH_EFORMAT,
                   "tokenizer training: %s; SentencePiece trains on lines of up to %d bytes: of a "
                   "text without line ends take bpe:train:SIZE",
                   status.ToString().c_str(), longest_line);
} catch (const std::bad_alloc &) {
    return no_memory();
}
}
