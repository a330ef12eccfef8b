package image_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

const (
	communityID = "/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2204gen2containerd/versions/202606.10.0"
	sharedID    = "/subscriptions/s/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2204gen2containerd/versions/202606.10.0"
)

// TestID checks ids in both directions.
//
// Source: Azure provider specification, conformance vectors.
func TestID(t *testing.T) {
	community := image.CommunityID(family.Ubuntu2204, "2204gen2containerd", "202606.10.0")
	shared := image.SharedID(family.Ubuntu2204, "s", "2204gen2containerd", "202606.10.0")
	for text, id := range map[string]image.ID{communityID: community, sharedID: shared} {
		if id.String() != text {
			t.Errorf("the id is %s, want %s", id, text)
		}
		for _, spelled := range []string{text, strings.NewReplacer("CommunityGalleries", "communitygalleries", "resourceGroups", "RESOURCEGROUPS").Replace(text)} {
			if got, err := image.ParseID(spelled); err != nil || got != id {
				t.Errorf("%s: parsed as %+v, %v", spelled, got, err)
			}
		}
	}
	if got, err := shared.NodeImageVersion(); err != nil || got != "AKSUbuntu-2204gen2containerd-202606.10.0" {
		t.Errorf("the version of a shared image is %q, %v", got, err)
	}
	if got, err := community.NodeImageVersion(); err == nil {
		t.Errorf("the version of a community image is %q", got)
	}
	linux := image.SharedID(family.AzureLinux3, "s", "V3gen2", "1").String()
	if want := "/subscriptions/s/resourceGroups/AKS-AzureLinux/providers/Microsoft.Compute/galleries/AKSAzureLinux/images/V3gen2/versions/1"; linux != want {
		t.Errorf("the id is %s, want %s", linux, want)
	}
	if got, want := image.CommunityID(family.AzureLinux2, "V2", "1").String(), "/CommunityGalleries/AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b/images/V2/versions/1"; got != want {
		t.Errorf("the id is %s, want %s", got, want)
	}
	for _, text := range []string{
		"", "x", communityID + "/x", communityID[1:], strings.TrimSuffix(communityID, "202606.10.0"), strings.TrimSuffix(communityID, "/versions/202606.10.0"),
		strings.Replace(sharedID, "/s/", "//", 1), strings.Replace(sharedID, "Compute", "Storage", 1), "marketplace:offer:sku:version",
	} {
		if got, err := image.ParseID(text); err == nil {
			t.Errorf("%q: parsed as %+v", text, got)
		}
	}
}

// TestNewer holds pairs of versions against which one is newer.
//
// Source: Azure provider specification, conformance vectors.
func TestNewer(t *testing.T) {
	t.Attr("covers", "Z233")
	for _, test := range []struct {
		version, than string
		want          bool
	}{
		{"202308.28.0", "202411.12.0", false},
		{"202411.12.0", "202308.28.0", true},
		{"202202.08.29", "202405.20.0", false},
		{"2022.10.03", "2022.12.15", false},
		{"202411.12.0", "2022.12.15", true},
		{"202411.12.0", "202411.12.0", false},
		{"2o2411.12.0", "202411.12.0", false},
		{"202411.12.0", "2o2411.12.0", true},
		{"2o2411.12.0", "2o2411.12.0", false},
		{"202411.12.0.1", "202411.12.0", true},
		{"202411.12.0", "202411.12.0.1", false},
		{"202411.12.10", "202411.12.9", true},
		{"2022.12.15", "202411.12.0", false},
	} {
		if got := image.Newer(test.version, test.than); got != test.want {
			t.Errorf("Newer(%q, %q) = %v", test.version, test.than, got)
		}
	}
}

func TestNewestShared(t *testing.T) {
	t.Attr("covers", "Z119")
	answer := []image.SharedVersion{
		{"AKSUbuntu", "2204gen2containerd", "2022.12.15"},
		{"AKSUbuntu", "2204gen2containerd", "202411.12.0"},
		{"AKSAzureLinux", "V3gen2", "202411.12.0"},
		{"AKSWindows", "2022", "99999.1.1"},
		{"AKSUbuntu", "2204gen2containerd", "x"},
		{"AKSUbuntu", "2404containerd", ""},
	}
	want := []image.SharedVersion{{"AKSAzureLinux", "V3gen2", "202411.12.0"}, {"AKSUbuntu", "2204gen2containerd", "202411.12.0"}}
	rapid.Check(t, func(t *rapid.T) {
		if diff := cmp.Diff(want, image.NewestShared(rapid.Permutation(answer).Draw(t, "answer"))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestNewestCommunity(t *testing.T) {
	t.Attr("covers", "Z120 Z232")
	day := func(text string) time.Time {
		out, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, test := range []struct {
		versions []image.CommunityVersion
		want     string
	}{
		{[]image.CommunityVersion{{"202601.01.0", day("2026-01-02")}, {"202699.01.0", day("2025-12-30")}}, "202601.01.0"},
		{[]image.CommunityVersion{{"202699.01.0", day("2025-12-30")}, {"202601.01.0", day("2026-01-02")}}, "202601.01.0"},
		{[]image.CommunityVersion{{"1.0.0", day("2026-01-02")}, {"2.0.0", day("2026-01-02")}, {"", day("2026-02-02")}}, "2.0.0"},
		{[]image.CommunityVersion{{"1.0.0", time.Time{}}}, "1.0.0"},
		{[]image.CommunityVersion{{"", day("2026-01-02")}}, ""},
		{nil, ""},
	} {
		if got, ok := image.NewestCommunity(test.versions); got != test.want || ok != (test.want != "") {
			t.Errorf("%v: got %q, %v, want %q", test.versions, got, ok, test.want)
		}
	}
}

// images are those of a class with the family Ubuntu on Kubernetes 1.33, in community galleries.
func images(without string) []v1beta1.NodeImage {
	return image.List(family.Ubuntu2204.Definitions(false, false, false), func(d family.Definition) (image.ID, bool) {
		return image.CommunityID(family.Ubuntu2204, d.Name, "1"), d.Name != without
	})
}

func TestList(t *testing.T) {
	t.Attr("covers", "Z232 Z237")
	var got []string
	for _, i := range images("2204containerd") {
		parsed, err := image.ParseID(i.ID)
		if err != nil {
			t.Fatal(err)
		}
		text := parsed.Definition
		for _, r := range i.Requirements {
			text += " " + r.Key + " " + string(r.Operator) + " " + strings.Join(r.Values, ",")
		}
		got = append(got, text)
	}
	want := []string{
		"2204gen2containerd kubernetes.io/arch In amd64 karpenter.azure.com/sku-hyperv-generation In 2",
		"2204gen2arm64containerd kubernetes.io/arch In arm64 karpenter.azure.com/sku-hyperv-generation In 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	empty := image.List(family.Ubuntu2204.Definitions(false, false, false), func(d family.Definition) (image.ID, bool) {
		return image.CommunityID(family.Ubuntu2204, d.Name, ""), true
	})
	if len(empty) != 0 {
		t.Errorf("definitions without versions have the images %v", empty)
	}
}

// TestChoose checks which image types get, by architecture and by generations of Hyper-V.
//
// Source: Azure provider specification, conformance vectors.
func TestChoose(t *testing.T) {
	t.Attr("covers", "Z118")
	for _, test := range []struct {
		size, arch  string
		generations []string
		want        string
	}{
		{"Standard_D2_v2", "amd64", []string{"1"}, "2204containerd"},
		{"Standard_D2s_v3", "amd64", []string{"1", "2"}, "2204gen2containerd"},
		{"Standard_D2as_v6", "amd64", []string{"2"}, "2204gen2containerd"},
		{"Standard_D16plds_v5", "arm64", []string{"2"}, "2204gen2arm64containerd"},
		{"a size that does not tell its generation", "amd64", nil, "2204gen2containerd"},
		{"a size with an unknown architecture", "riscv64", []string{"2"}, ""},
	} {
		requirements := []v1.NodeSelectorRequirementWithMinValues{cloud.In("kubernetes.io/arch", test.arch), cloud.In(label.SKUName, test.size)}
		if test.generations != nil {
			requirements = append(requirements, cloud.In(label.SKUHyperVGeneration, test.generations...))
		}
		got, ok := image.Choose(images(""), requirements)
		if ok != (test.want != "") || ok && !strings.Contains(got.ID, "/"+test.want+"/") {
			t.Errorf("%s: got %s, %v, want %s", test.size, got.ID, ok, test.want)
		}
	}
	fips := image.List(family.Ubuntu2004.Definitions(true, false, true), func(d family.Definition) (image.ID, bool) {
		return image.SharedID(family.Ubuntu2004, "s", d.Name, "1"), true
	})
	arm := []v1.NodeSelectorRequirementWithMinValues{cloud.In("kubernetes.io/arch", "arm64"), cloud.In(label.SKUHyperVGeneration, "2")}
	if got, ok := image.Choose(fips, arm); ok || len(fips) != 2 {
		t.Errorf("an arm64 size gets the FIPS image %s of %d", got.ID, len(fips))
	}
}

// TestKeepVersions checks what a class uses outside its maintenance window.
//
// Source: Azure provider specification, conformance vectors.
func TestKeepVersions(t *testing.T) {
	t.Attr("covers", "Z122 Z234")
	named := func(ids ...string) []v1beta1.NodeImage {
		var out []v1beta1.NodeImage
		for _, id := range ids {
			out = append(out, v1beta1.NodeImage{ID: id})
		}
		return out
	}
	for _, test := range []struct{ current, discovered, want []v1beta1.NodeImage }{
		{named("A/versions/1", "B/versions/1"), named("A/versions/2", "C/versions/2"), named("A/versions/1", "C/versions/2")},
		{named("a/Versions/1"), named("A/versions/2"), named("a/Versions/1")},
		{named(communityID), named(sharedID), named(sharedID)},
		{nil, named("A/versions/2"), named("A/versions/2")},
		{named("A/versions/1"), nil, nil},
		{named("", "x", "/"), named("A/versions/2"), named("A/versions/2")},
	} {
		discovered := named()
		discovered = append(discovered, test.discovered...)
		if diff := cmp.Diff(test.want, image.KeepVersions(test.current, test.discovered)); diff != "" {
			t.Errorf("%v and %v (-want +got)\n%s", test.current, test.discovered, diff)
		}
		if diff := cmp.Diff(discovered, append(named(), test.discovered...)); diff != "" {
			t.Errorf("what was discovered changed (-before +after)\n%s", diff)
		}
	}
}
