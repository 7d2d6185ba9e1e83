// sardonyx.h in C++: it is compiled only.

#include "sardonyx.h"

static int nothing(sdx_transaction *, void *) { return SDX_OK; }

int use(sdx_tables *tables) {
    sdx_options options = SDX_OPTIONS;
    sdx_segment *segment = nullptr;
    sdx_range range = {};
    range.size = sizeof range;
    sdx_status status = sdx_open("x.sdx", &options, &segment);
    return status == SDX_OK ? sdx_transaction_run(tables, nothing, nullptr, SDX_COMMIT_WAIT, nullptr) : 1;
}
