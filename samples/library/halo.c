/*
 * Packs a face of a 3-D field with a halo into a contiguous buffer, without MPI, and unpacks it into the halo of
 * the other side. In a project of your own:
 *
 *     cc halo.c $(pkg-config --cflags --libs packwright) -o halo
 */
#include <packwright/packwright.h>

#include <stdio.h>

enum { N = 64, H = 2, W = N + 2 * H };

static double field[W][W][W], buffer[N * N * H];

static double value_at(int i, int j, int k)
{
    return i + 1e-3 * j + 1e-6 * k;
}

/* The face of the high side of the last axis to the halo of its low side, as on a periodic grid. */
static packwright_status exchange(void)
{
    const int64_t sizes[] = {W, W, W}, face[] = {N, N, H}, inner[] = {H, H, N}, outer[] = {H, H, 0};
    packwright_type *cell = NULL, *send = NULL, *receive = NULL;
    packwright_status status = packwright_bytes(sizeof(double), sizeof(double), &cell);

    if (!status)
        status = packwright_subarray(3, sizes, face, inner, PACKWRIGHT_ORDER_C, cell, &send);
    if (!status)
        status = packwright_subarray(3, sizes, face, outer, PACKWRIGHT_ORDER_C, cell, &receive);
    if (!status)
        status = packwright_pack(send, field, 1, buffer);
    if (!status)
        status = packwright_unpack(receive, field, 1, buffer);
    packwright_type_free(receive);
    packwright_type_free(send);
    packwright_type_free(cell);
    return status;
}

int main(void)
{
    int wrong = 0;

    for (int i = 0; i < W; i++)
        for (int j = 0; j < W; j++)
            for (int k = 0; k < W; k++)
                field[i][j][k] = k < H ? -1 : value_at(i, j, k);
    if (exchange()) {
        fprintf(stderr, "halo: %s\n", packwright_last_error());
        return 1;
    }
    for (int i = 0; i < W; i++)
        for (int j = 0; j < W; j++)
            for (int k = 0; k < H; k++) {
                int in_face = i >= H && i < H + N && j >= H && j < H + N;

                wrong += field[i][j][k] != (in_face ? value_at(i, j, k + N) : -1);
            }
    printf("halo: %s, %d bytes packed\n", wrong ? "WRONG" : "verified", (int)sizeof buffer);
    return wrong != 0;
}
