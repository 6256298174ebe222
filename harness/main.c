/* The program: settles what libraries read as they load, then hands the words to the command line
 * in Lua. The only exit(). */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "harness/lua/bind.h"
#include "harness/run/ranks.h"
#include "kernels/device.h"

static const char core_variable[] = "OPENBLAS_CORETYPE";
static const char threads_variable[] = "OPENBLAS_NUM_THREADS";
static const char spin_variable[] = "GOMP_SPINCOUNT";
static const char again_variable[] = "LONGHAUL_BLAS_CHOSEN";

/* Where a standard stream is closed, the first file that is opened would take its number, and what
 * is printed would land in that file. Open for reading alone, it refuses that as a closed one. */
static void occupy_standard_streams(void) {
    int file = 0;
    while (file >= 0 && file <= STDERR_FILENO)
        file = open("/dev/null", O_RDONLY);
    if (file >= 0) (void)close(file);
}

/* OpenBLAS reads its core when it is loaded; `version` and each row say which it was. Whether a
 * better one was set. */
static bool choose_blas_core(void) {
    const char *better = lh_blas_better_core();
    return better != NULL && setenv(core_variable, better, 1) == 0;
}

/* OpenMP's idle threads spin for as long as a whole kernel takes; where another process wants the
 * core, that costs the one that works. A tenth of a millisecond bridges the gap between kernels. */
static bool bound_spinning(void) {
    if (getenv(spin_variable) != NULL || getenv("OMP_WAIT_POLICY") != NULL) return false;
    return setenv(spin_variable, "20000", 0) == 0;
}

/* Our own threads call OpenBLAS, each for itself: threads of its own would only wait, and take
 * memory as it loads, without end where there is none. */
static bool still_blas_threads(void) {
    const char *threads = getenv(threads_variable);
    if (threads != NULL && strcmp(threads, "1") == 0) return false;
    return setenv(threads_variable, "1", 1) == 0;
}

/* The libraries read these variables as they load, so a change takes effect only in a program
 * started anew. Returns when there is nothing to change or the new start fails. */
static void settle_libraries(char **words) {
    if (getenv(again_variable) != NULL) return;
    const bool better = choose_blas_core(), bounded = bound_spinning();
    if (!still_blas_threads() && !better && !bounded) return;
    char *program = NULL;
    const bool known = lh_link_read("/proc/self/exe", &program) == LH_OK && program != NULL;
    if (known && setenv(again_variable, "1", 1) == 0)
        (void)execv(program, words); /* under its own name, which ps shows */
    free(program);
    lh_error_clear();
}

/* Numbers are read and written with a point, whatever locale a script or a library sets: what one
 * thread has chosen stands before that. */
static void settle_numbers(void) {
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain != (locale_t)0) (void)uselocale(plain);
}

/* Whether all that was printed has arrived: a full disk shows when the buffer is emptied. */
static bool print_all(void) {
    if (fflush(stdout) == 0 && ferror(stdout) == 0) return true;
    (void)fprintf(stderr, "longhaul: standard output could not be written\n");
    return false;
}

/* Calls longhaul.main's run with the words; the exit code, or 1 after a message. */
static int run(lua_State *lua, int count, char **words) {
    lua_getglobal(lua, "require");
    lua_pushstring(lua, "longhaul.main");
    if (lua_pcall(lua, 1, 1, 0) != LUA_OK) {
        (void)fprintf(stderr, "longhaul: %s\n", lua_tostring(lua, -1));
        return 1;
    }
    lua_getfield(lua, -1, "run");
    lua_newtable(lua);
    for (int i = 1; i < count; ++i) {
        lua_pushstring(lua, words[i]);
        lua_seti(lua, -2, i);
    }
    if (lua_pcall(lua, 1, 1, 0) != LUA_OK) {
        (void)fprintf(stderr, "longhaul: %s\n", lua_tostring(lua, -1));
        return 1;
    }
    return (int)lua_tointeger(lua, -1);
}

int main(int count, char **words) {
    occupy_standard_streams();
    /* a file that may grow no more is an error with its name, as on a full disk, and no death */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* who started this program may ignore it, and then no child's exit code is ever told */
    (void)signal(SIGCHLD, SIG_DFL);
    settle_libraries(words);
    settle_numbers();
    if (lh_ranks_open() != LH_OK) {
        (void)fprintf(stderr, "longhaul: %s\n", lh_error_text());
        return 1;
    }
    lua_State *lua = lh_lua_open();
    if (lua == NULL) {
        (void)fprintf(stderr, "longhaul: out of memory\n");
        return 1;
    }
    int code = run(lua, count, words);
    lua_close(lua);
    if (!print_all() && code == 0) code = 1;
    if (lh_ranks_close(code == 0) == LH_OK) return code;
    (void)fprintf(stderr, "longhaul: %s\n", lh_error_text());
    return 1;
}
