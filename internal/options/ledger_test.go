package options

import (
	"strings"
	"testing"
)

func TestLedgerSettings(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for args, want := range map[string]Ledger{
		"--ledger-memory=0":                         {Memory: 0, Disk: 1 << 30},
		"--ledger-memory=10M --ledger-dir=/x":       {Memory: 10_000_000, Dir: "/x", Disk: 1 << 30},
		"--ledger-memory=2097152 --ledger-disk=2Gi": {Memory: 2 << 20, Disk: 2 << 30},
	} {
		o, err := Parse(strings.Fields(args), none)
		if err != nil || o.Ledger != want {
			t.Errorf("%s: %+v, %v", args, o.Ledger, err)
		}
		if on := o.Ledger.Memory > 0 || o.Ledger.Dir != ""; o.Ledger.Enabled() != on {
			t.Errorf("%s: enabled is %v", args, !on)
		}
	}
	for args, want := range map[string]string{
		"--ledger-memory=64":            "must be 0 or at least 2Mi",
		"--ledger-memory=-1":            "a number of bytes such as 64Mi",
		"--ledger-memory=1500m":         "a number of bytes such as 64Mi",
		"--ledger-disk=1Mi":             "must be at least 32Mi",
		"--console-addr=8082":           "must be HOST:PORT",
		"--console-addr=localhost:http": "must be HOST:PORT",
		"--console-addr=:65536":         "must be HOST:PORT",
	} {
		if _, err := Parse(strings.Fields(args), none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
