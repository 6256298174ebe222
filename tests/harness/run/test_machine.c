/* What a result row says of machine and program. */
#include "harness/run/machine.h"

#include <unistd.h>

#include "harness/run/cpu_time.h"
#include "tests/test.h"

TEST(the_machine_describes_itself) {
    lh_machine machine;
    REQUIRE_OK(lh_machine_describe(&machine));
    CHECK(machine.cpu[0] != '\0');
    CHECK_CONTAINS(machine.system, "Linux");
    CHECK_CONTAINS(machine.kernels, "cpu-");
    CHECK_EQ_INT(machine.cores, sysconf(_SC_NPROCESSORS_ONLN));
    CHECK(machine.threads >= 1);
    CHECK(strlen(machine.host) > 0);
    CHECK(machine.memory_bytes > (int64_t)64 << 20);
}

TEST(memory_and_load_are_within_reason) {
    lh_machine machine;
    REQUIRE_OK(lh_machine_describe(&machine));
    const int64_t available = lh_memory_available();
    CHECK(available > 0 && available <= machine.memory_bytes);
    const double load = lh_load_average();
    CHECK(isnan(load) || load >= 0);
}

TEST(the_program_knows_where_it_comes_from) {
    CHECK(lh_version()[0] != '\0');
    CHECK(strcmp(lh_version_dirty(), "yes") == 0 || strcmp(lh_version_dirty(), "no") == 0 ||
          strcmp(lh_version_dirty(), "unknown") == 0);
    CHECK(strchr(lh_compiler(), ' ') != NULL);
    CHECK_CONTAINS(lh_compiler_flags(), "-f");
    CHECK_CONTAINS(lh_share_folder(), "longhaul");
}

/* Work of this process is among that of the machine. */
TEST(time_of_processors_grows_with_work) {
    lh_cpu_time before, after;
    if (lh_cpu_time_read(&before) != LH_OK) {
        lh_error_clear();
        SKIP("no /proc here");
    }
    volatile double sum = 0;
    do {
        for (int i = 0; i < 1000000; ++i)
            sum = sum + 1.0 / (1 + i);
        REQUIRE_OK(lh_cpu_time_read(&after));
    } while (after.process < before.process + 0.3);
    CHECK(after.machine >= before.machine + 0.2);
    CHECK(before.processors >= 1 && before.processors == after.processors);
    CHECK(strlen(before.place) > 1 && strcmp(before.place, after.place) == 0);
}
