/* Tasks whose data are made as they are read know them by the generator's version and the seed. */
#include "datasets/digest.h"
#include "datasets/generate/algorithm.h"
#include "datasets/generate/duplication.h"
#include "datasets/generate/network_sequences.h"
#include "datasets/generate/random_walk.h"
#include "datasets/generate/recall.h"
#include "datasets/generate/regular_strings.h"
#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

static bool digest_of(const char *name, const char *text, uint64_t *digest) {
    task_bench f;
    const bool good = open_task(&f, name, text, "", 1);
    if (good) *digest = f.task->class->digest(f.task->instance);
    close_task(&f);
    return good;
}

TEST(the_version_of_the_generator_is_part_of_the_data) {
    static const struct {
        const char *task, *options;
        uint64_t version, seed;
    } known[] = {{"duplication", "data_seed=5", LH_DUPLICATION_VERSION, 5},
                 {"recall", "data_seed=5", LH_RECALL_VERSION, 5},
                 {"random_walk", "data_seed=5", LH_RANDOM_WALK_VERSION, 5},
                 {"algorithm", "data_seed=5", LH_ALGORITHM_VERSION, 5},
                 {"regular_language", "data_seed=5", LH_REGULAR_LANGUAGE_VERSION, 5},
                 {"simulated_network", "", LH_SIMULATED_NETWORK_VERSION, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        uint64_t digest = 0;
        if (!CHECK(digest_of(known[i].task, known[i].options, &digest))) continue;
        (void)test_check(digest == lh_digest_generated(known[i].version, known[i].seed), __FILE__,
                         __LINE__, "%s knows its data otherwise", known[i].task);
    }
}
