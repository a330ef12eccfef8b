package options_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// FuzzFlags checks that a flag and a variable of any value are refused, with an error of bounded length, or are read the same again, as one
// argument or two.
func FuzzFlags(f *testing.F) {
	for _, seed := range []struct{ flag, value, variable, setting string }{
		{"log-level", "debug", "BATCH_IDLE_DURATION", "1s"},
		{"ledger-memory", "1e-999999999", "FEATURE_GATES", "StaticCapacity=true,Nothing=1"},
		{"kube-client-qps", "NaN", "VM_MEMORY_OVERHEAD_PERCENT", "Inf"},
		{"batch-max-duration", "99999999999h", "METRICS_PORT", "-1"},
		{"metrics-port", "99999999999999999999", "LOG_LEVEL", "x"},
		{"cloud-provider", "a\nb", "DISABLE_LEADER_ELECTION", "maybe"},
		{"scheduler-config", "a: [", "IGNORE_DRA_REQUESTS", ""},
		{"feature-gates", strings.Repeat("A=true,", 100), "LEDGER_DISK", "0x10"},
	} {
		f.Add(seed.flag, seed.value, seed.variable, seed.setting)
	}
	f.Fuzz(func(t *testing.T, flag, value, variable, setting string) {
		if flag == "help" || strings.HasPrefix(flag, "help=") {
			return
		}
		env := func(name string) (string, bool) { return setting, name == variable }
		got, err := options.Parse([]string{"--" + flag + "=" + value}, env)
		if err != nil {
			if limit := 4<<10 + 4*len(flag+value+variable+setting); len(err.Error()) > limit {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		again, err := options.Parse([]string{"--" + flag + "=" + value}, env)
		if err != nil || !cmp.Equal(got, again) {
			t.Errorf("--%s=%s is read in two ways: %v", flag, value, err)
		}
		if _, err := got.Published(nil); err != nil {
			t.Errorf("--%s=%s cannot be published: %v", flag, value, err)
		}
	})
}
