package kwok

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func named(name, uid string) *v1.NodeClaim {
	return &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

func TestNodeNames(t *testing.T) {
	form := regexp.MustCompile(`^kwok-pool-x7k2p-[a-z]+-[a-z]+-[0-9]+$`)
	seen := map[string]bool{}
	for i := range 1000 {
		claim := named("pool-x7k2p", fmt.Sprint(i))
		name := nodeName(claim)
		if !form.MatchString(name) {
			t.Fatalf("name is %q", name)
		}
		if seen[name] {
			t.Fatalf("two claims share %q", name)
		}
		seen[name] = true
		if again := nodeName(claim.DeepCopy()); again != name {
			t.Fatalf("one claim is %q and %q", name, again)
		}
		if back, ok := nodeNameOf(providerID(name)); !ok || back != name {
			t.Fatalf("the provider id of %q names %q", name, back)
		}
	}
}

func TestNamesOfLongClaimsAreValid(t *testing.T) {
	for _, name := range []string{
		strings.Repeat("a", 63), strings.Repeat("a", 253),
		strings.Repeat("ab-", 80) + "z", strings.Repeat("a.", 100) + "z", strings.Repeat("a", 51) + "-.-" + strings.Repeat("b", 100),
	} {
		claim := named(name, "some-uid")
		if problems := validation.IsDNS1123Subdomain(nodeName(claim)); len(problems) > 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
			t.Errorf("node name %q: %s", nodeName(claim), problems)
		}
		if problems := validation.IsValidLabelValue(hostname(claim)); len(problems) > 0 {
			t.Errorf("host name %q: %s", hostname(claim), problems)
		}
	}
	if hostname(named("short", "u")) != "short" {
		t.Errorf("host name of a short claim is %q", hostname(named("short", "u")))
	}
	a, b := named(strings.Repeat("a", 100), "1"), named(strings.Repeat("a", 100), "2")
	if hostname(a) == hostname(b) {
		t.Errorf("two claims share the host name %q", hostname(a))
	}
}

func TestForeignProviderIDs(t *testing.T) {
	for _, id := range []string{"", "kwok://", "kwok:/node", "aws:///a/i-1", "node"} {
		if name, ok := nodeNameOf(id); ok {
			t.Errorf("%q is taken for node %q", id, name)
		}
	}
}

func TestCheapestOfferingIsChosen(t *testing.T) {
	w := newWorld(t, Options{})
	offerings := w.cloud.Provider.(*provider).offeringLists.plain
	for _, tt := range []struct {
		name string
		reqs []v1.NodeSelectorRequirementWithMinValues
		cpu  string
		want string // type and capacity type of the cheapest offerings, as a pattern
	}{
		{"anything", nil, "", `^c-1x-(amd64|arm64)-(linux|windows) spot$`},
		{"linux, on demand", []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelOSStable, "linux"), cloud.In(v1.CapacityTypeLabelKey, "on-demand"),
		}, "", `^c-1x-(amd64|arm64)-linux on-demand$`},
		{"one family", []v1.NodeSelectorRequirementWithMinValues{cloud.In(LabelInstanceFamily, "m")}, "", `^m-1x-.* spot$`},
		{"compared by number", []v1.NodeSelectorRequirementWithMinValues{
			{Key: LabelInstanceCPU, Operator: corev1.NodeSelectorOpGt, Values: []string{"8"}},
		}, "", `^c-16x-.* spot$`},
		{"large enough", nil, "4", `^c-8x-.* spot$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pattern, zones, kinds := regexp.MustCompile(tt.want), map[string]int{}, map[string]int{}
			for i := range 400 {
				claim := named("c", fmt.Sprint(i))
				claim.Spec.Requirements = tt.reqs
				if tt.cpu != "" {
					claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resourceOf(tt.cpu)}
				}
				got, err := choose(offerings, claim)
				if err != nil {
					t.Fatal(err)
				}
				if text := got.Type.Name + " " + got.Offering.CapacityType(); !pattern.MatchString(text) {
					t.Fatalf("claim %d became %s", i, text)
				}
				zones[got.Offering.Zone()]++
				kinds[got.Type.Name]++
				if again, _ := choose(offerings, claim); again != got {
					t.Fatalf("claim %d became %v and %v", i, got, again)
				}
			}
			if len(zones) != 4 || len(kinds) < 2 {
				t.Errorf("equally cheap offerings are not spread: %v %v", zones, kinds)
			}
		})
	}
}
