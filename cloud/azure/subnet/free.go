package subnet

import "net/netip"

// UnknownFree is the number of free addresses of a subnet that does not tell its prefixes.
const UnknownFree = -1

// reserved is how many addresses of each prefix Azure keeps: the first four and the last.
const reserved = 5

// maxBits is how many bits of a prefix may be free: more than any subnet of IPv4 has.
const maxBits = 32

// Free returns how many IPv4 addresses are free in a subnet with some prefixes, such as 10.224.0.0/16, of which some are used: at least 0, or
// UnknownFree without a prefix that can be read. Nodes have no IPv6 addresses.
func Free(prefixes []string, used int) int {
	total, known := 0, false
	for _, text := range prefixes {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || !prefix.Addr().Is4() {
			continue
		}
		total += max(1<<(maxBits-prefix.Bits())-reserved, 0)
		known = true
	}
	if !known {
		return UnknownFree
	}
	return max(total-used, 0)
}
