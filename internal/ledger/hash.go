package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Hash is the hash of an input, as Pass shows it. It tells whether two passes had the same input. It is the first half of a SHA-256, which
// processors compute fast.
type Hash struct{ h hash.Hash }

// NewHash returns a hash for one run, which Start names.
func NewHash(run string) Hash {
	h := Hash{sha256.New()}
	h.Text(run)
	return h
}

// Text adds text.
func (h Hash) Text(parts ...string) {
	for _, part := range parts {
		h.Number(uint64(len(part)))
		_, _ = h.h.Write([]byte(part)) // never fails
	}
}

// Number adds a number.
func (h Hash) Number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.h.Write(b[:]) // never fails
}

// String is the hash of what was added, in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h.h.Sum(nil)[:sha256.Size/2]) }
