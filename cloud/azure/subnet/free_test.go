package subnet_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

func TestFreeAddresses(t *testing.T) {
	for _, c := range []struct {
		prefixes []string
		used     int
		want     int
	}{
		{[]string{"10.224.0.0/16"}, 0, 65531},
		{[]string{"10.224.0.0/29"}, 1, 2},
		{[]string{"10.224.0.0/29"}, 9, 0},
		{[]string{"10.224.0.0/29", "10.225.0.0/28"}, 0, 3 + 11},
		{[]string{"10.224.0.0/29", "fd00::/64"}, 0, 3},
		{[]string{"10.224.0.0/31"}, 0, 0},
		{[]string{"0.0.0.0/0"}, 0, 1<<32 - 5},
		{[]string{"fd00::/64"}, 0, subnet.UnknownFree},
		{[]string{"10.224.0.0", ""}, 0, subnet.UnknownFree},
		{nil, 5, subnet.UnknownFree},
	} {
		if got := subnet.Free(c.prefixes, c.used); got != c.want {
			t.Errorf("%v with %d used has %d free, want %d", c.prefixes, c.used, got, c.want)
		}
	}
}
