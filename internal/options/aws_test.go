package options

import (
	"strings"
	"testing"
)

func TestWhatCannotBeRightOnAWS(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--cloud-provider=aws", "missing field, cluster-name"},
		{"--cluster-endpoint=cluster", "cluster endpoint URL is not valid"},
		{"--cluster-endpoint=https://", "cluster endpoint URL is not valid"},
		{"--vm-memory-overhead-percent=-0.1", "vm-memory-overhead-percent cannot be negative"},
		{"--vm-memory-overhead-percent=much", "must be a number"},
		{"--reserved-enis=-1", "reserved-enis cannot be negative"},
		{"--ami-refresh-interval=59s", "ami-refresh-interval must be at least 1m"},
		{"--subnet-refresh-interval=59s", "subnet-refresh-interval must be at least 1m"},
	} {
		if _, err := Parse([]string{test.args}, func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.args, err, test.want)
		}
	}
	if _, err := Parse([]string{"--cloud-provider=aws", "--cluster-name=a"}, func(string) (string, bool) { return "", false }); err != nil {
		t.Error(err)
	}
}
