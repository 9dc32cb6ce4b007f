# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the bytes of the file FROM, as numbers with commas behind, to TO.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1,\n" bytes "${bytes}")
file(WRITE ${TO} "${bytes}")
