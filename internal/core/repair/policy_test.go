package repair

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// fallback is a valid default.
func fallback() Policy {
	return Policy{ConditionType: "Ready", ConditionStatus: "False", Toleration: 30 * time.Minute, Action: Replace}
}

func compile(t testing.TB, list ...Policy) *Policies {
	t.Helper()
	p, err := Compile(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestASetHasOneDefaultThatReplaces(t *testing.T) {
	t.Attr("covers", "N005")
	special := Policy{ConditionType: "GPU", ConditionStatus: "True", ReasonRegex: "XID", Action: Reboot}
	anything := special
	anything.ReasonRegex = ".*"
	rebooting := fallback()
	rebooting.Action = Reboot
	other := fallback()
	other.ConditionType = "Disk"
	for _, tt := range []struct {
		name string
		list []Policy
		want string
	}{
		{"no policies", nil, "node repair requires the cloud provider to define RepairPolicies, but it defines none"},
		{"no default", []Policy{special}, "repair policy set must define one default fallback"},
		{"an expression for everything is no default", []Policy{anything}, "repair policy set must define one default fallback"},
		{"one default for each condition", []Policy{fallback(), other}, "repair policy set defines multiple default fallbacks"},
		{"a default that reboots", []Policy{rebooting}, "the default fallback must have the Action ReplaceNode"},
		{"valid", []Policy{special, fallback()}, ""},
	} {
		_, err := Compile(tt.list)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got the error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestAllViolationsAreReportedTogether(t *testing.T) {
	t.Attr("covers", "N005")
	negative := -time.Second
	_, err := Compile([]Policy{
		{ConditionType: "", ConditionStatus: "Maybe", ReasonRegex: "(", Toleration: -1, GracePeriod: &negative, Priority: 101, Action: "Reset"},
		{ConditionType: "Disk", ConditionStatus: "True", ReasonRegex: "full", Priority: -1, Action: Replace},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"node repair requires valid RepairPolicies, ",
		`policy 0 {conditionType: "", conditionStatus: "Maybe", reasonRegex: "(", tolerationDuration: -1ns, terminationGracePeriod: -1s, priority: 101, action: "Reset"}: ConditionType must not be empty`,
		"ConditionStatus must be True, False or Unknown", "TolerationDuration must not be negative", "TerminationGracePeriod must not be negative",
		"Priority must be between 0 and 100", "Action must be ReplaceNode or RebootNode", "ReasonRegex must be a regular expression of Go",
		`policy 1 {conditionType: "Disk"`, "repair policy set must define one default fallback",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

func TestWhichPoliciesMatchACondition(t *testing.T) {
	t.Attr("covers", "N006")
	t.Attr("covers", "N007")
	t.Attr("covers", "N008")
	set := compile(
		t,
		fallback(),
		Policy{ConditionType: "GPU", ConditionStatus: "False", ReasonRegex: "XID(48|64)", Action: Reboot},
		Policy{ConditionType: "GPU", ConditionStatus: "False", ReasonRegex: "XID64", Action: Replace, Toleration: time.Hour},
		Policy{ConditionType: "Disk", ConditionStatus: "True", ReasonRegex: ".*", Action: Replace},
	)
	for _, tt := range []struct {
		condition Condition
		covered   bool
		want      []string
	}{
		{Condition{Type: "GPU", Status: "False", Reason: "NVRM-XID48-detected"}, true, []string{"XID(48|64)"}},
		{Condition{Type: "GPU", Status: "False", Reason: "XID64"}, true, []string{"XID(48|64)", "XID64"}},
		{Condition{Type: "GPU", Status: "False", Reason: "Unknown"}, true, []string{""}}, // the default is for pairs of other policies too
		{Condition{Type: "GPU", Status: "True", Reason: "XID64"}, false, nil},
		{Condition{Type: "Disk", Status: "True"}, true, []string{".*"}},
		{Condition{Type: "Disk", Status: "Unknown", Reason: "x"}, false, nil},
		{Condition{Type: "Ready", Status: "False", Reason: "KubeletNotReady"}, true, []string{""}},
		{Condition{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown"}, false, nil},
	} {
		var got []string
		for _, m := range set.Match(nil, tt.condition, 0) {
			got = append(got, m.Rule.ReasonRegex)
		}
		if !slices.Equal(got, tt.want) || set.Covers(tt.condition.Type, tt.condition.Status) != tt.covered {
			t.Errorf("%v: got the policies %q, want %q", tt.condition, got, tt.want)
		}
	}
	if none := (*Policies)(nil); none.Covers("Ready", "False") || none.Match(nil, Condition{Type: "Ready", Status: "False"}, 0) != nil {
		t.Error("the set without policies matches a condition")
	}
}

// at is a time in minutes.
func at(minutes float64) int64 { return int64(minutes * float64(time.Minute)) }

func TestTheTolerationBeginsWithTheConditionTheNodeOrTheLastReboot(t *testing.T) {
	t.Attr("covers", "N009")
	set := compile(t, fallback())
	for _, tt := range []struct {
		name                     string
		since, created, rebooted int64
		want                     int64
	}{
		{"the condition is the latest", at(10), at(5), 0, at(40)},
		{"the node is younger than its condition", at(1), at(5), 0, at(35)},
		{"the condition does not say since when it lasts", 0, at(5), 0, at(35)},
		{"the node was rebooted since", at(10), at(5), at(20), at(50)},
		{"the node was rebooted before", at(10), at(5), at(7), at(40)},
	} {
		matches := set.Match(nil, Condition{Type: "Ready", Status: "False", Since: tt.since}, tt.created)
		h := Health{Matches: matches, Rebooted: tt.rebooted}
		if _, early := h.Decide(tt.want - 1); early {
			t.Errorf("%s: due before %v", tt.name, time.Duration(tt.want))
		}
		if d, due := h.Decide(tt.want); !due || d.EligibleAt != tt.want {
			t.Errorf("%s: due at %v (%t), want %v", tt.name, time.Duration(d.EligibleAt), due, time.Duration(tt.want))
		}
	}
}

func TestASpecificPolicyThatWaitsKeepsTheDefaultFromMatching(t *testing.T) {
	t.Attr("covers", "N008")
	quick := fallback()
	quick.Toleration = 0
	set := compile(t, quick, Policy{ConditionType: "Ready", ConditionStatus: "False", ReasonRegex: "Slow", Toleration: time.Hour, Action: Replace})
	h := Health{Matches: set.Match(nil, Condition{Type: "Ready", Status: "False", Reason: "Slow"}, 0)}
	if _, due := h.Decide(at(59)); due {
		t.Error("the default matched while the policy for the reason waits")
	}
	if d, due := h.Decide(at(60)); !due || d.Governing.Rule.Fallback {
		t.Errorf("due is %t, for the policy %v", due, d.Governing.Rule)
	}
}
