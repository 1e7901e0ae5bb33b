// An integer of 128 bits, for products of two of 64.
#pragma once

namespace berth {

__extension__ using Wide = __int128;

}  // namespace berth
