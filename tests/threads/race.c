/* Whether the thread sanitizer sees what it should in OpenMP's threads: `race` adds up without
 * a word to the others, `sound` does the same with a reduction and a barrier. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 1000 };

static int racing_sum(void) {
    int sum = 0;
#pragma omp parallel for num_threads(4) shared(sum)
    for (int i = 0; i < COUNT; ++i)
        sum += i;
    return sum;
}

static int sound_sum(void) {
    int sum = 0, parts[4] = {0};
#pragma omp parallel num_threads(4)
    {
        const int thread = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < COUNT; ++i)
            parts[thread] += i;
#pragma omp single
        for (int i = 0; i < 4; ++i)
            sum += parts[i];
    }
    return sum;
}

int main(int count, char **words) {
    const int races = count > 1 && strcmp(words[1], "race") == 0;
    printf("%d\n", races ? racing_sum() : sound_sum());
    return 0;
}
