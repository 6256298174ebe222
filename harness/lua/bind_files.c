/* Files, folders, locks, hashes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "datasets/digest.h"
#include "datasets/locate.h"
#include "datasets/text/corpus_folder.h"
#include "datasets/text/json_lines.h"
#include "datasets/unpack.h"
#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"
#include "harness/lua/bind.h"

/* ---- files ---- */

/* read_file(path) -> text. */
static int read_file(lua_State *lua) {
    void *data = NULL;
    size_t bytes = 0;
    lh_lua_check(lua, lh_file_read_all(luaL_checkstring(lua, 1), &data, &bytes));
    lh_lua_push_owned(lua, data, bytes);
    return 1;
}

/* check_writable(path): fails as write_file would, before the work that is to be written. */
static int check_writable(lua_State *lua) {
    lh_atomic_file *file = NULL;
    lh_lua_check(lua, lh_atomic_file_open(luaL_checkstring(lua, 1), &file));
    lh_atomic_file_abandon(file);
    return 0;
}

/* write_file(path, text): whole or not at all. */
static int write_file(lua_State *lua) {
    size_t bytes = 0;
    const char *text = luaL_checklstring(lua, 2, &bytes);
    lh_lua_check(lua, lh_atomic_file_put(luaL_checkstring(lua, 1), text, bytes));
    return 0;
}

static const char file_type[] = "longhaul.file";

static int file_close(lua_State *lua) {
    lh_atomic_file **file = luaL_checkudata(lua, 1, file_type);
    lh_atomic_file_abandon(*file);
    *file = NULL;
    return 0;
}

static lh_atomic_file **file_at(lua_State *lua) {
    lh_atomic_file **file = luaL_checkudata(lua, 1, file_type);
    luaL_argcheck(lua, *file != NULL, 1, "the file has been committed");
    return file;
}

static int file_name(lua_State *lua) {
    lua_pushstring(lua, lh_atomic_file_name(*file_at(lua)));
    return 1;
}

static int file_write(lua_State *lua) {
    lh_atomic_file *file = *file_at(lua);
    size_t bytes = 0;
    const char *text = luaL_checklstring(lua, 2, &bytes);
    lh_lua_check(lua, lh_atomic_file_write(file, text, bytes));
    lh_lua_check(lua, lh_atomic_file_flush(file));
    return 0;
}

static int file_commit(lua_State *lua) {
    lh_atomic_file **file = file_at(lua), *done = *file;
    *file = NULL;
    lh_lua_check(lua, lh_atomic_file_commit(done));
    return 0;
}

/* begin_file(path) -> to be closed: a file that :write(text) adds to, and that another program
 * reads or writes under the name that :name() gives; :commit() puts it in the place of `path`,
 * closing it before takes it away. Opened here by its name it is no longer kept from being swept
 * away. */
static int begin_file(lua_State *lua) {
    static const luaL_Reg methods[] = {
        {"name", file_name}, {"write", file_write}, {"commit", file_commit}, {NULL, NULL}};
    const char *path = luaL_checkstring(lua, 1);
    lh_atomic_file **file = lua_newuserdatauv(lua, sizeof(lh_atomic_file *), 0);
    *file = NULL;
    lh_lua_push_type(lua, file_type, methods, file_close);
    lua_setmetatable(lua, -2);
    lh_lua_check(lua, lh_atomic_file_open(path, file));
    return 1;
}

/* sweep_folder(path): removes what processes that were killed left of files they wrote. */
static int sweep_folder(lua_State *lua) {
    lh_atomic_file_sweep(luaL_checkstring(lua, 1));
    return 0;
}

static int exists(lua_State *lua) {
    struct stat status;
    lua_pushboolean(lua, stat(luaL_checkstring(lua, 1), &status) == 0);
    return 1;
}

/* file_size(path) -> bytes, or nil for what is not a file. */
static int file_size(lua_State *lua) {
    struct stat status;
    if (stat(luaL_checkstring(lua, 1), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    lua_pushinteger(lua, (lua_Integer)status.st_size);
    return 1;
}

/* file_stamp(path) -> text that differs once the file was replaced or written to; nil where it is
 * not. */
static int file_stamp(lua_State *lua) {
    struct stat status;
    char text[96];
    if (stat(luaL_checkstring(lua, 1), &status) != 0) return 0;
    (void)snprintf(text, sizeof text, "%llu %lld %lld.%09ld", (unsigned long long)status.st_ino,
                   (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec);
    lua_pushstring(lua, text);
    return 1;
}

static int is_folder(lua_State *lua) {
    struct stat status;
    lua_pushboolean(lua, stat(luaL_checkstring(lua, 1), &status) == 0 && S_ISDIR(status.st_mode));
    return 1;
}

/* make_folder(path): with its parents. */
static int make_folder(lua_State *lua) {
    lh_lua_check(lua, lh_make_folder(luaL_checkstring(lua, 1)));
    return 0;
}

typedef struct listing {
    struct dirent **entry;
    int count;
} listing;

static int push_names(lua_State *lua) {
    const listing *of = lua_touserdata(lua, 1);
    lua_Integer listed = 0;
    lua_newtable(lua);
    for (int i = 0; i < of->count; ++i) {
        if (of->entry[i]->d_name[0] == '.') continue;
        lua_pushstring(lua, of->entry[i]->d_name);
        lua_seti(lua, -2, ++listed);
    }
    return 1;
}

/* list_folder(path) -> sorted names without those that begin with a dot; empty when it cannot be
 * read. */
static int list_folder(lua_State *lua) {
    listing found = {0};
    found.count = scandir(luaL_checkstring(lua, 1), &found.entry, NULL, alphasort);
    const int status = lh_lua_guard(lua, push_names, &found);
    for (int i = 0; i < found.count; ++i)
        free(found.entry[i]);
    free(found.entry);
    lh_lua_settle(lua, status);
    return 1;
}

/* named_split(path) -> "train", "valid" or "test", after which a file is called; or nil. */
static int named_split(lua_State *lua) {
    const int split = lh_corpus_named_split(luaL_checkstring(lua, 1));
    lua_pushstring(lua, split >= 0 ? lh_split_names[split] : NULL);
    return 1;
}

/* split_folders(folder) -> the folders in it that are splits, by name: { train = "train", dev =
 * "valid" }. */
static int split_folders(lua_State *lua) {
    const char *folder = luaL_checkstring(lua, 1);
    const lh_status before = lh_error_get()->status;
    lua_newtable(lua);
    for (int s = 0; s < LH_SPLITS; ++s) {
        const char *name = lh_corpus_split_folder(folder, (lh_split)s);
        if (name == NULL) continue;
        lua_pushstring(lua, lh_split_names[s]);
        lua_setfield(lua, -2, name);
    }
    lh_lua_check(lua, lh_error_since(before, LH_OK));
    return 1;
}

/* split_by_name(name) -> "train", "valid" or "test": that of a document in a folder which says
 * none. */
static int split_by_name(lua_State *lua) {
    lua_pushstring(lua, lh_split_names[lh_split_by_name(luaL_checkstring(lua, 1))]);
    return 1;
}

/* unpack_file(path) -> text, of a file that may be compressed with gzip. */
static int unpack_file(lua_State *lua) {
    lh_text text = {0};
    lh_lua_check(lua, lh_file_unpack(luaL_checkstring(lua, 1), &text));
    lh_lua_push_owned(lua, text.data, text.bytes);
    return 1;
}

/* file_identity(path) -> text that all paths of a file or a folder share; nil where there is none.
 */
static int file_identity(lua_State *lua) {
    struct stat status;
    char text[64];
    if (stat(luaL_checkstring(lua, 1), &status) != 0) return 0;
    (void)snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)status.st_dev,
                   (unsigned long long)status.st_ino);
    lua_pushstring(lua, text);
    return 1;
}

static lh_status count_line(void *to, const lh_json_line *line) {
    if (!cJSON_IsObject(line->value) && !cJSON_IsArray(line->value))
        return lh_json_line_refuse(line, "neither an object nor an array of turns");
    *(lua_Integer *)to += 1;
    return LH_OK;
}

/* json_lines(path, text) -> how many documents; an error with its line where one is none. `text`,
 * which the file unpacks to, may be nil: it is unpacked then. */
static int json_lines(lua_State *lua) {
    lua_Integer count = 0;
    size_t bytes = 0;
    const char *path = luaL_checkstring(lua, 1), *text = luaL_optlstring(lua, 2, NULL, &bytes);
    lh_lua_check(lua, text == NULL ? lh_json_lines_read(path, count_line, &count)
                                   : lh_json_lines_of(path, text, bytes, count_line, &count));
    lua_pushinteger(lua, count);
    return 1;
}

static int remove_file(lua_State *lua) {
    lua_pushboolean(lua, unlink(luaL_checkstring(lua, 1)) == 0);
    return 1;
}

/* rename_file(from, to): of files and folders; what is at `to` is replaced as rename(2) does. */
static int rename_file(lua_State *lua) {
    const char *from = luaL_checkstring(lua, 1), *to = luaL_checkstring(lua, 2);
    if (lh_io_refused() || rename(from, to) != 0) lh_lua_check(lua, lh_io_failure("rename", from));
    return 0;
}

static int push_paths(lua_State *lua) {
    char *const *path = lua_touserdata(lua, 1);
    lua_newtable(lua);
    for (int i = 0; path[i] != NULL; ++i) {
        lua_pushstring(lua, path[i]);
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

/* data_folders() -> array of where data are looked for. */
static int data_folders(lua_State *lua) {
    char *path[LH_DATA_FOLDERS + 1] = {NULL};
    int count = 0;
    lh_lua_check(lua, lh_data_folders(path, &count));
    const int status = lh_lua_guard(lua, push_paths, path);
    for (int i = 0; i < count; ++i)
        free(path[i]);
    lh_lua_settle(lua, status);
    return 1;
}

/* cache_folder() -> its path, "" where there is none. */
static int cache_folder(lua_State *lua) {
    char *path = NULL;
    lh_lua_check(lua, lh_cache_folder(&path));
    lh_lua_push_owned(lua, path, path != NULL ? strlen(path) : 0);
    return 1;
}

/* ---- locks ---- */

static const char lock_type[] = "longhaul.lock";

static int lock_close(lua_State *lua) {
    int *file = luaL_checkudata(lua, 1, lock_type);
    if (*file >= 0) (void)close(*file);
    *file = -1;
    return 0;
}

/* Locks an open file; *has is false where F_SETLK found that another process has the lock. */
static lh_status lock_open(int file, const char *path, int command, bool *has) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *has = false;
    while (fcntl(file, command, &whole) != 0) {
        if (command == F_SETLK && (errno == EACCES || errno == EAGAIN)) return LH_OK;
        if (errno != EINTR)
            return lh_fail(LH_EIO, "%s: cannot be locked: %s", path, strerror(errno));
    }
    *has = true;
    return LH_OK;
}

/* Who had the lock may have removed the file before it let go: that file's lock is nobody's, as
 * others lock the next one. */
static bool was_removed(int file) {
    struct stat about;
    return fstat(file, &about) == 0 && about.st_nlink == 0;
}

/* Opens the file, which is made where there is none, and locks it. */
static lh_status lock_path(const char *path, int command, int *file, bool *has) {
    do {
        if (*file >= 0) (void)close(*file);
        *file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
        if (*file < 0) return lh_fail(LH_EIO, "%s: cannot be opened: %s", path, strerror(errno));
        LH_TRY(lock_open(*file, path, command, has));
    } while (*has && was_removed(*file));
    return LH_OK;
}

/* lock(path, only_if_free) -> to be closed: holds an exclusive lock on the file until then, waiting
 * for it first; nil when it must not wait and another process has it. */
static int lock(lua_State *lua) {
    const char *path = luaL_checkstring(lua, 1);
    const int command = lua_toboolean(lua, 2) ? F_SETLK : F_SETLKW;
    bool has = false;
    int *file = lua_newuserdatauv(lua, sizeof *file, 0);
    *file = -1;
    lh_lua_push_type(lua, lock_type, NULL, lock_close);
    lua_setmetatable(lua, -2);
    lh_lua_check(lua, lock_path(path, command, file, &has));
    return has ? 1 : 0;
}

/* is_locked(path) -> whether another process holds the lock; nothing is made, locked or awaited.
 * Not for a lock of this process: to close the file gives it back. */
static int is_locked(lua_State *lua) {
    const char *path = luaL_checkstring(lua, 1);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const bool is_known = file >= 0 && fcntl(file, F_GETLK, &whole) == 0;
    if (file >= 0) (void)close(file);
    lua_pushboolean(lua, is_known && whole.l_type != F_UNLCK);
    return 1;
}

static void write_hex(char *to, uint64_t value) {
    for (int i = 15; i >= 0; --i, value >>= 4)
        to[i] = "0123456789abcdef"[value & 15];
}

/* hash(text, digits) -> hexadecimal digits (XXH3, 128 bits): the first so many, at most 32 (default
 * 32). */
static int hash(lua_State *lua) {
    size_t bytes = 0;
    const char *text = luaL_checklstring(lua, 1, &bytes);
    const lua_Integer digits = luaL_optinteger(lua, 2, 32);
    luaL_argcheck(lua, digits > 0 && digits <= 32, 2, "1 to 32 digits");
    const XXH128_hash_t value = XXH3_128bits(text, bytes);
    char hex[32];
    write_hex(hex, value.high64);
    write_hex(hex + 16, value.low64);
    lua_pushlstring(lua, hex, (size_t)digits);
    return 1;
}

static lh_status digest_kept(const char *path, uint64_t *digest) {
    lh_digests *digests = NULL;
    LH_TRY(lh_digests_create(&digests));
    const lh_status status = lh_digests_file(digests, path, digest, NULL);
    if (status == LH_OK) lh_digests_keep(digests);
    lh_digests_destroy(digests);
    return status;
}

/* file_digest(path) -> 16 hexadecimal digits of the file's content; kept (datasets/digest.h). */
static int file_digest(lua_State *lua) {
    uint64_t digest = 0;
    lh_lua_check(lua, digest_kept(luaL_checkstring(lua, 1), &digest));
    lh_lua_push_hex(lua, digest);
    return 1;
}

const luaL_Reg lh_lua_files[] = {{"check_writable", check_writable},
                                 {"read_file", read_file},
                                 {"write_file", write_file},
                                 {"begin_file", begin_file},
                                 {"sweep_folder", sweep_folder},
                                 {"exists", exists},
                                 {"file_size", file_size},
                                 {"file_stamp", file_stamp},
                                 {"is_folder", is_folder},
                                 {"make_folder", make_folder},
                                 {"list_folder", list_folder},
                                 {"remove_file", remove_file},
                                 {"rename_file", rename_file},
                                 {"file_identity", file_identity},
                                 {"named_split", named_split},
                                 {"split_by_name", split_by_name},
                                 {"unpack_file", unpack_file},
                                 {"json_lines", json_lines},
                                 {"data_folders", data_folders},
                                 {"cache_folder", cache_folder},
                                 {"lock", lock},
                                 {"is_locked", is_locked},
                                 {"hash", hash},
                                 {"file_digest", file_digest},
                                 {"split_folders", split_folders},
                                 {NULL, NULL}};
