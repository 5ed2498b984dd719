/* How fast liblz4 itself decompresses the blocks of a state file, called from C: CPU seconds of the fastest pass.

   Usage: lz4_limit FILE PASSES. Blocks have a header of 21 bytes: magic, token, size stored, size, checksum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LZ4_decompress_safe(const char *from, char *to, int stored, int most);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  FILE *file = fopen(arguments[1], "rb");
  if (!file) return 2;
  fseek(file, 0, SEEK_END);
  long length = ftell(file);
  rewind(file);
  char *data = malloc(length);
  if (!data || fread(data, 1, length, file) != (size_t)length) return 2;
  size_t total = 0;
  int32_t stored, size;
  for (long at = 0; at + 21 <= length; at += 21 + stored) {
    memcpy(&stored, data + at + 9, 4);
    memcpy(&size, data + at + 13, 4);
    total += size;
  }
  double best = 1e9;
  for (int pass = 0; pass < atoi(arguments[2]); pass++) {
    double begun = now();
    char *plain = malloc(total), *to = plain;
    for (long at = 0; at + 21 <= length; at += 21 + stored) {
      memcpy(&stored, data + at + 9, 4);
      memcpy(&size, data + at + 13, 4);
      if ((data[at + 8] & 0xF0) == 0x10) {
        memcpy(to, data + at + 21, size);
      } else if (size && LZ4_decompress_safe(data + at + 21, to, stored, size) != size) {
        return 1;
      }
      to += size;
    }
    free(plain);
    double taken = now() - begun;
    if (taken < best) best = taken;
  }
  printf("%.6f\n", best);
  return 0;
}
