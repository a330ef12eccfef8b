package kwok

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

const (
	goodOffering = `{"Price": 1.5, "Available": false, "Requirements": [
		{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
		{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-1"]}]}`
	goodEntry = `{"name": "box", "architecture": "amd64", "operatingSystems": ["linux"],
		"resources": {"cpu": "2", "memory": "4Gi"}, "offerings": [` + goodOffering + `]}`
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "types.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileReplacesTheCatalogue(t *testing.T) {
	racked := `{"name": "rack.large", "architecture": "arm64", "operatingSystems": ["windows", "linux", "linux"],
		"resources": {"cpu": "3500m", "memory": "1Gi", "pods": "7", "example.com/fpga": 2},
		"offerings": [` + goodOffering + `, {"Price": 0, "ReservationCapacity": 4, "Requirements": [
			{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]},
			{"key": "failure-domain.beta.kubernetes.io/zone", "operator": "In", "values": ["zone-2"]},
			{"key": "example.com/rack", "operator": "In", "values": ["r1"]}]}]}`
	path := writeFile(t, "["+goodEntry+","+racked+`, {"name": "none", "architecture": "amd64",
		"operatingSystems": ["linux"], "resources": {"cpu": 1, "memory": "1Gi"}}]`)
	types := byName(t, Options{InstanceTypesFile: path, Catalog: DefaultCatalog})
	if len(types) != 3 {
		t.Fatalf("there are %d types", len(types))
	}
	if diff := cmp.Diff(map[string]string{"cpu": "2", "memory": "4Gi", "pods": "110"}, amounts(types["box"].Capacity)); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	checkLabels(t, types["box"], map[string]string{
		"example.com/rack": "", corev1.LabelTopologyZone: "zone-1", LabelInstanceSize: "2", LabelInstanceFamily: "b",
	})
	checkLabels(t, types["rack.large"], map[string]string{
		"example.com/rack": "r1", LabelInstanceCPU: "3", LabelInstanceSize: "large", LabelInstanceFamily: "rack",
		corev1.LabelOSStable: "linux windows", corev1.LabelTopologyZone: "zone-1 zone-2", v1.CapacityTypeLabelKey: "reserved spot",
	})
	checkLabels(t, types["none"], map[string]string{corev1.LabelTopologyZone: "", v1.CapacityTypeLabelKey: ""})
	spot := types["box"].Offerings[0]
	if spot.Price != 1.5 || !spot.Available {
		t.Errorf("offering is %+v; all offerings of a file are available", spot)
	}
	if rack := cloud.Requirements(spot.Requirements, v1.CoreLabelRules()); !rack.Has("example.com/rack") ||
		rack.Get("example.com/rack").String() != "example.com/rack DoesNotExist" {
		t.Errorf("an offering without a rack says %s", rack)
	}
	if reserved := types["rack.large"].Offerings[1]; reserved.ReservationCapacity != 4 || reserved.Zone() != "zone-2" {
		t.Errorf("reserved offering is %+v", reserved)
	}
}

func TestKeysOfOfferingsBecomeWellKnown(t *testing.T) {
	path := writeFile(t, "["+strings.Replace(goodEntry, `{"key": "topology`,
		`{"key": "example.com/rack", "operator": "In", "values": ["r1"]}, {"key": "topology`, 1)+"]")
	rules := newWorld(t, Options{InstanceTypesFile: path}).cloud.Labels
	if !rules.WellKnown["example.com/rack"] || rules.Restricted("example.com/rack") {
		t.Error("the key of an offering is not well-known")
	}
}

// TestTypesWithoutOfferings: a type without offerings must neither be launched nor prevent launches of others.
func TestTypesWithoutOfferings(t *testing.T) {
	path := writeFile(t, `[{"name": "none", "architecture": "amd64", "operatingSystems": ["linux"],
		"resources": {"cpu": 64, "memory": "1Gi"}, "offerings": []},`+goodEntry+"]")
	w := newWorld(t, Options{InstanceTypesFile: path})
	got := w.launch(w.claim())
	if got.Labels[corev1.LabelInstanceTypeStable] != "box" {
		t.Errorf("launched as %q", got.Labels[corev1.LabelInstanceTypeStable])
	}
	_, err := w.cloud.Provider.Create(t.Context(), w.claim(cloud.In(corev1.LabelInstanceTypeStable, "none")))
	if !cloud.IsInsufficientCapacity(err) {
		t.Errorf("got %v", err)
	}
}

func TestBadFilesAreRefused(t *testing.T) {
	change := func(old, replacement string) string {
		return "[" + strings.Replace(goodEntry, old, replacement, 1) + "]"
	}
	tests := []struct{ name, text, want string }{
		{"no array", `{}`, "a JSON array"},
		{"no JSON", `[`, "a JSON array"},
		{"unknown field", change(`"resources"`, `"resuorces"`), `entry 0 (name "box"): json: unknown field "resuorces"`},
		{"no name", change(`"box"`, `""`), `entry 0 (name ""): name: is empty`},
		{"name that is no label", change(`"box"`, `"a box"`), `name: "a box" is not a label value`},
		{"same name twice", "[" + goodEntry + "," + goodEntry + "]", `entry 1 (name "box"): name: already used by entry 0`},
		{"no architecture", change(`"amd64"`, `""`), `entry 0 (name "box"): architecture: is empty`},
		{"no system", change(`["linux"]`, `[]`), "operatingSystems: is empty"},
		{"empty system", change(`["linux"]`, `[""]`), "operatingSystems: is empty"},
		{"no cpu", change(`"cpu": "2",`, ``), "resources.cpu: a positive quantity"},
		{"no memory", change(`"memory": "4Gi"`, `"memory": "0"`), "resources.memory: a positive quantity"},
		{"bad quantity", change(`"4Gi"`, `"4GiB"`), `resources.memory: "4GiB" is not a quantity`},
		{"bad name of a resource", change(`"cpu": "2",`, `"cpu": "2", "a/b/c": "1",`), `resources.a/b/c: not the name of a resource`},
		{"quantity that takes hours to read", change(`"4Gi"`, `"1e-999999999"`), `resources.memory: "1e-999999999" is not a quantity: the exponent`},
		{"capacity of a device that takes hours to read", change(`"offerings"`, `"resourceSlices": [{"devices": [{"name": "x", "capacity": {"c": {"value": "1e999999999"}}}]}], "offerings"`), `entry 0 (name "box"): resourceSlices[0].devices[0].capacity.c.value: not a quantity`},
		{"negative quantity", change(`"2"`, `"-2"`), "resources.cpu: -2 is negative"},
		{"no price", change(`"Price": 1.5,`, ``), "offerings[0]: Price: a number of at least 0"},
		{"negative price", change(`1.5`, `-1`), "offerings[0]: Price: a number of at least 0"},
		{"price as text", change(`1.5`, `"1.5"`), "offerings[0]: json"},
		{"no zone", change(`topology.kubernetes.io/zone`, `example.com/zone`), `offerings[0]: Requirements: an In requirement with one value is needed for key "topology.kubernetes.io/zone"`},
		{"no capacity type", change(`karpenter.sh/capacity-type`, `example.com/type`), `for key "karpenter.sh/capacity-type"`},
		{"unknown capacity type", change(`"spot"`, `"cheap"`), `capacity type "cheap" is none of spot, on-demand, reserved`},
		{"two zones", change(`["zone-1"]`, `["zone-1", "zone-2"]`), `Requirements[1] (key "topology.kubernetes.io/zone"): operator "In" with 2 values`},
		{"other operator", change(`"operator": "In", "values": ["zone-1"]`, `"operator": "Exists"`), `operator "Exists" with 0 values`},
		{"bad key", change(`topology.kubernetes.io/zone`, `a/b/c`), `Requirements[1] (key "a/b/c"): not a label key`},
		{"bad value", change(`zone-1`, `zone 1`), `"zone 1" is not a label value`},
		{"key twice", change(`{"key": "topology`, `{"key": "failure-domain.beta.kubernetes.io/zone", "operator": "In", "values": ["z"]}, {"key": "topology`), `Requirements[2] (key "topology.kubernetes.io/zone"): given twice`},
		{"slice without a driver", change(`"offerings"`, `"resourceSlices": [{"pool": {"name": "p"}}], "offerings"`), "resourceSlices[0]: driver and pool.name are needed"},
		{"slice without a pool", change(`"offerings"`, `"resourceSlices": [{"driver": "d.io"}], "offerings"`), "resourceSlices[0]: driver and pool.name are needed"},
		{"device without a name", change(`"offerings"`, `"resourceSlices": [{"driver": "d.io", "pool": {"name": "p"}, "devices": [{}]}], "offerings"`), "resourceSlices[0].devices: every device needs a name"},
		{"binding of one device", change(`"offerings"`, `"resourceSlices": [{"driver": "d.io", "pool": {"name": "p"}}], "attributeBindings": [{"attribute": "d.io/x", "devices": [{}]}], "offerings"`), "attributeBindings[0]: an attribute and at least two devices"},
		{"offering twice", change(goodOffering, goodOffering+","+goodOffering), "offerings[1].Requirements: the same as those of offerings[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := writeFile(t, tt.text)
			_, err := New(nil, Options{InstanceTypesFile: path})
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is\n%v\nand should name %s and say\n%s", err, path, tt.want)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.json")
	if _, err := New(nil, Options{InstanceTypesFile: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
