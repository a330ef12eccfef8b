package provider

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func sayPolicies(list []cloud.RepairPolicy) (out []string) {
	for _, p := range list {
		grace := "none"
		if p.TerminationGracePeriod != nil {
			grace = p.TerminationGracePeriod.String()
		}
		out = append(out, fmt.Sprintf("%s=%s %s %s %s %s", p.ConditionType, p.ConditionStatus, p.ReasonRegex, p.TolerationDuration, grace, p.Action))
	}
	return out
}

func TestRepairPolicies(t *testing.T) {
	t.Attr("covers", "N300 N301 N305 N538")
	for reboot, action := range map[bool]string{false: "ReplaceNode", true: "RebootNode"} {
		list := repairPolicies(reboot)
		want := []string{
			"Ready=False .* 30m0s 10m0s ReplaceNode", "Ready=Unknown .* 30m0s 10m0s ReplaceNode",
			"AcceleratedHardwareReady=False .*XID(46|48|54|62|63|95|109|110|136|140|143|155|156|158).* 10m0s 5m0s " + action,
			"AcceleratedHardwareReady=False .*XID(64|74|79|119|120).* 10m0s 5m0s ReplaceNode",
			"AcceleratedHardwareReady=False  30m0s 10m0s ReplaceNode", "StorageReady=False .* 30m0s 10m0s ReplaceNode",
			"NetworkingReady=False .* 30m0s 10m0s ReplaceNode", "KernelReady=False .* 30m0s 10m0s ReplaceNode",
			"ContainerRuntimeReady=False .* 30m0s 10m0s ReplaceNode",
		}
		if diff := cmp.Diff(want, sayPolicies(list)); diff != "" {
			t.Errorf("with reboots %t (-want +got):\n%s", reboot, diff)
		}
		if _, err := translate.RepairPolicies(list); err != nil {
			t.Error(err)
		}
	}
	legacy := []string{
		"Ready=False  30m0s none ReplaceNode", "Ready=Unknown  30m0s none ReplaceNode", "AcceleratedHardwareReady=False  10m0s none ReplaceNode",
		"StorageReady=False  30m0s none ReplaceNode", "NetworkingReady=False  30m0s none ReplaceNode", "KernelReady=False  30m0s none ReplaceNode",
		"ContainerRuntimeReady=False  30m0s none ReplaceNode",
	}
	if diff := cmp.Diff(legacy, sayPolicies(legacyRepairPolicies())); diff != "" {
		t.Errorf("legacy (-want +got):\n%s", diff)
	}
}

func TestExpressionsForXIDsOccurInLongerNumbers(t *testing.T) {
	t.Attr("covers", "N302")
	for reason, want := range map[string][2]bool{
		"NvidiaXID48Error": {true, false}, "NvidiaXID64Error": {false, true}, "XID641": {false, true}, "XID1": {false, false}, "Unknown": {false, false},
	} {
		got := [2]bool{regexp.MustCompile(rebootXIDs).MatchString(reason), regexp.MustCompile(replaceXIDs).MatchString(reason)}
		if got != want {
			t.Errorf("%s: matches %v, want %v", reason, got, want)
		}
	}
}
