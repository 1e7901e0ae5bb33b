/* What a job may do that a shell cannot say: keys, user changes, deep trees, locked memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long ring_of(const char* name) {
  return name[0] == 'u' ? KEY_SPEC_USER_KEYRING : KEY_SPEC_SESSION_KEYRING;
}

/* key-add u|s NAME VALUE: into the user's or the session's keyring. */
static int key_add(char** words) {
  const long key =
      syscall(SYS_add_key, "user", words[1], words[2], strlen(words[2]), ring_of(words[0]));
  puts(key < 0 ? strerror(errno) : "added");
  return key < 0;
}

/* key-find NAME: the value that can be had by the session's keyring. */
static int key_find(char** words) {
  char value[256] = "";
  const long key =
      syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", words[0], 0);
  if (key < 0) return puts(strerror(errno)), 1;
  const long size = syscall(SYS_keyctl, KEYCTL_READ, key, value, sizeof value - 1);
  puts(size < 0 ? strerror(errno) : value);
  return size < 0;
}

/* key-ring: whose the session's keyring is, `keyring;UID;GID;...`. */
static int key_ring(char** words) {
  char text[256] = "";
  (void)words;
  syscall(SYS_keyctl, KEYCTL_DESCRIBE, KEY_SPEC_SESSION_KEYRING, text, sizeof text - 1);
  puts(text);
  return 0;
}

static void got(int number) { printf("got %d\n", number), fflush(stdout); }

/* become-root: set-user-id root, it is root's altogether then, and says what signals it gets. */
static int become_root(char** words) {
  (void)words;
  if (setresuid(0, 0, 0) != 0) return puts(strerror(errno)), 1;
  const int heard[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  for (unsigned i = 0; i < sizeof heard / sizeof heard[0]; ++i) signal(heard[i], got);
  puts("ready"), fflush(stdout);
  for (;;) pause();
}

/* deep DEPTH PROGRAM...: a program so many processes down. */
static int deep(char** words) {
  for (int left = atoi(words[0]); left > 0; --left) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) return waitpid(child, NULL, 0) < 0;
  }
  execvp(words[1], words + 1);
  return 127;
}

/* lock-memory FILE: maps it, writes to it, and maps it again; where the file system does not take
   what was written the process holds its own memory's lock for as long. */
static int lock_memory(char** words) {
  const int file = open(words[0], O_RDWR);
  char* const first = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || first == MAP_FAILED) return puts(strerror(errno)), 1;
  first[0] = 'x';
  puts("locks"), fflush(stdout);
  mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  puts("goes on"), fflush(stdout);
  for (;;) pause();
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int words;
    int (*run)(char**);
  } known[] = {{"key-add", 3, key_add},   {"key-find", 1, key_find},
               {"key-ring", 0, key_ring}, {"become-root", 0, become_root},
               {"deep", 2, deep},         {"lock-memory", 1, lock_memory}};
  for (unsigned i = 0; i < sizeof known / sizeof known[0]; ++i) {
    if (argc < 2 || strcmp(argv[1], known[i].name) != 0) continue;
    if (argc - 2 >= known[i].words) return known[i].run(argv + 2);
  }
  fputs("wilful_job: no such thing to do\n", stderr);
  return 2;
}
