// Package segment keeps records of the ledger on disk, in files of a limited size.
//
// Format: a directory has segments, files with the name of the number of their first record, as 20 digits, and the ending .ledger. A
// segment begins with the eight bytes "KARPLDG1". Each record follows as its length and the CRC-32C (Castagnoli) of its bytes, both as 32
// bits in little endian, and its bytes: one JSON object.
//
// A process starts a new segment and never writes to an old one. It deletes the oldest segments when all together exceed the limit.
//
// Failures: the end of the newest segment may be torn after a crash; Open truncates it. Where a record in the middle is damaged, the
// rest of its segment is skipped, because the lengths after it cannot be trusted; readers report that. A write that fails loses records,
// which are counted, and is retried with a new segment after a pause.
//
// One directory belongs to one process at a time. Any number of readers may read it meanwhile.
package segment
