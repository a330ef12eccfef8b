package requirement

import "encoding/binary"

// The flags in a requirement's identity before its values.
const (
	identityPresent = 1 << iota
	identityComplement
	identityLow
	identityHigh
)

// AppendIdentity appends an encoding of r to b that identifies r: the encoding is equal for equal requirements
// and different for others. No encoding is a prefix of another one, so several can follow each other.
func (r Requirement) AppendIdentity(b []byte) []byte {
	flags, within := byte(0), r.bounds()
	for _, one := range [...]struct {
		set  bool
		flag byte
	}{{r.present, identityPresent}, {r.complement, identityComplement}, {within.hasLow, identityLow}, {within.hasHigh, identityHigh}} {
		if one.set {
			flags |= one.flag
		}
	}
	b = append(appendString(b, r.Key), flags)
	b = binary.AppendUvarint(b, uint64(r.minValues))
	if within.hasLow {
		b = binary.AppendVarint(b, within.low)
	}
	if within.hasHigh {
		b = binary.AppendVarint(b, within.high)
	}
	b = binary.AppendUvarint(b, uint64(len(r.values)))
	for _, v := range r.values {
		b = appendString(b, v)
	}
	return b
}

// AppendIdentity appends the encodings of all requirements of s.
func (s Set) AppendIdentity(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	for i := range s {
		b = s[i].AppendIdentity(b)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
