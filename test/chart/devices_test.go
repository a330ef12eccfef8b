package chart

import (
	"strings"
	"testing"
)

// TestSwitchesOfDevices: settings.enableDRA and the gates of AWS decide whether resource claims are read, and with it what may be read.
func TestSwitchesOfDevices(t *testing.T) {
	t.Attr("covers", "N392 N393 N394 N401 N543")
	const nvidia, fabric, ignore, enable = "settings.awsFeatureGates.draNVIDIAGPU", "settings.awsFeatureGates.draEFA", "settings.ignoreDRARequests", "settings.enableDRA"
	for _, test := range []struct {
		set            []string
		ignored, gates string
	}{
		{nil, "true", "DRANVIDIAGPU=false,DRAEFA=false"},
		{[]string{enable + "=true"}, "false", "DRANVIDIAGPU=true,DRAEFA=true"},
		{[]string{nvidia + "=true"}, "false", "DRANVIDIAGPU=true,DRAEFA=false"},
		{[]string{fabric + "=true", nvidia + "=false"}, "false", "DRANVIDIAGPU=false,DRAEFA=true"},
		{[]string{ignore + "=false"}, "false", "DRANVIDIAGPU=false,DRAEFA=false"},
		{[]string{ignore + "=true", nvidia + "=false"}, "true", "DRANVIDIAGPU=false,DRAEFA=false"},
	} {
		r := named(append([]string{"settings.clusterName=one"}, test.set...)...)
		got := variables(r.objects(t), t)
		if got["IGNORE_DRA_REQUESTS"] != test.ignored || !strings.Contains(got["AWS_FEATURE_GATES"], test.gates) {
			t.Errorf("%v: IGNORE_DRA_REQUESTS is %s, AWS_FEATURE_GATES is %s", test.set, got["IGNORE_DRA_REQUESTS"], got["AWS_FEATURE_GATES"])
		}
		if granted := strings.Contains(r.manifest(t), "deviceclasses"); granted == (test.ignored == "true") {
			t.Errorf("%v: devices may be read: %t", test.set, granted)
		}
	}
}

// TestSwitchesOfDevicesExcludeEachOther: whatever the value is, false included.
func TestSwitchesOfDevicesExcludeEachOther(t *testing.T) {
	t.Attr("covers", "N393 N397 N543")
	for _, test := range []struct{ set, want string }{
		{"settings.ignoreDRARequests=false", "settings.enableDRA is mutually exclusive with settings.ignoreDRARequests: unset them, or unset settings.enableDRA"},
		{"settings.ignoreDRARequests=true", "settings.ignoreDRARequests: unset"},
		{"settings.awsFeatureGates.draEFA=false", "settings.awsFeatureGates.draEFA: unset"},
		{"settings.awsFeatureGates.draNVIDIAGPU=true,settings.awsFeatureGates.draEFA=true", "with settings.awsFeatureGates.draEFA, settings.awsFeatureGates.draNVIDIAGPU: unset"},
	} {
		_, err := named(append([]string{"settings.clusterName=one", "settings.enableDRA=true"}, strings.Split(test.set, ",")...)...).text()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.set, err, test.want)
		}
	}
}
