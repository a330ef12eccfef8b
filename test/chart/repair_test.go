package chart

import (
	"strings"
	"testing"
)

// TestSwitchOfLegacyNodeRepair: the value reaches the binary, and excludes the gate whose effect it would undo.
func TestSwitchOfLegacyNodeRepair(t *testing.T) {
	t.Attr("covers", "N395 N397")
	for _, test := range []struct {
		set  []string
		want bool
	}{
		{nil, false},
		{[]string{"settings.legacyNodeRepair=true"}, true},
		{[]string{"settings.legacyNodeRepair=true", "settings.featureGates.terminateFirstRepair=false"}, true},
		{[]string{"settings.featureGates.terminateFirstRepair=true"}, false},
	} {
		if got := parsed(t, named(append([]string{"settings.clusterName=one"}, test.set...)...)).Disruption.LegacyNodeRepair; got != test.want {
			t.Errorf("%v: legacy node repair is %t", test.set, got)
		}
	}
	_, err := named("settings.clusterName=one", "settings.legacyNodeRepair=true", "settings.featureGates.terminateFirstRepair=true").text()
	if err == nil || !strings.Contains(err.Error(), "settings.legacyNodeRepair can't be combined with settings.featureGates.terminateFirstRepair: ") {
		t.Errorf("both are accepted: %v", err)
	}
}
