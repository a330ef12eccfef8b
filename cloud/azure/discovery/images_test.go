package discovery_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	computefake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// class is an AKSNodeClass for a version of Kubernetes.
func class(version string, change func(*v1beta1.AKSNodeClass)) *v1beta1.AKSNodeClass {
	out := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}}
	if change != nil {
		change(out)
	}
	if version != "" {
		out.Status.KubernetesVersion = version
		out.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionTypeKubernetesVersionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	}
	return out
}

// galleries are community galleries by definition, with the number of requests, behind the SDK's own server.
type galleries struct {
	versions map[string][]image.CommunityVersion
	lists    int
}

// transport answers requests.
type transport func(*http.Request) (*http.Response, error)

// Do implements policy.Transporter.
func (t transport) Do(r *http.Request) (*http.Response, error) { return t(r) }

func (g *galleries) client(t *testing.T) *armcompute.CommunityGalleryImageVersionsClient {
	t.Helper()
	server := computefake.CommunityGalleryImageVersionsServer{
		NewListPager: func(location, gallery, definition string, _ *armcompute.CommunityGalleryImageVersionsClientListOptions) (out fake.PagerResponder[armcompute.CommunityGalleryImageVersionsClientListResponse]) {
			g.lists++
			if location != "westus2" || !strings.HasPrefix(gallery, "AKS") {
				t.Errorf("a list of gallery %q in %q", gallery, location)
			}
			versions := g.versions[definition]
			for _, v := range versions { // one on each page
				out.AddPage(http.StatusOK, armcompute.CommunityGalleryImageVersionsClientListResponse{CommunityGalleryImageVersionList: armcompute.CommunityGalleryImageVersionList{
					Value: []*armcompute.CommunityGalleryImageVersion{{Name: &v.Version, Properties: &armcompute.CommunityGalleryImageVersionProperties{PublishedDate: &v.Published}}, {}},
				}}, nil)
			}
			if len(versions) == 0 {
				out.AddPage(http.StatusOK, armcompute.CommunityGalleryImageVersionsClientListResponse{
					CommunityGalleryImageVersionList: armcompute.CommunityGalleryImageVersionList{Value: []*armcompute.CommunityGalleryImageVersion{}},
				}, nil)
			}
			return out
		},
	}
	known := computefake.NewCommunityGalleryImageVersionsServerTransport(&server)
	client, err := armcompute.NewCommunityGalleryImageVersionsClient("sub", &fake.TokenCredential{}, &arm.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			for definition := range g.versions {
				if strings.Contains(r.URL.Path, "/"+definition+"/") {
					return known.Do(r)
				}
			}
			return &http.Response{StatusCode: http.StatusNotFound, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error": {"code": "NotFound"}}`))}, nil
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func ids(t *testing.T, images *discovery.Images, of *v1beta1.AKSNodeClass) string {
	t.Helper()
	found, err := images.Of(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range found {
		id, err := image.ParseID(i.ID)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id.Definition+" "+id.Version)
	}
	return strings.Join(out, ", ")
}

func TestCommunityImages(t *testing.T) {
	t.Attr("covers", "Z120 Z121")
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	day := func(d int) time.Time { return time.Date(2026, 4, d, 0, 0, 0, 0, time.UTC) }
	g := &galleries{versions: map[string][]image.CommunityVersion{
		"2404gen2containerd": {{Version: "202604.9.0", Published: day(1)}, {Version: "202604.2.0", Published: day(2)}},
		"2404containerd":     {},
		"2204gen2containerd": {{Version: "202603.1.0", Published: day(1)}},
	}}
	images := discovery.NewImages(discovery.ImageOptions{Community: &discovery.Community{Client: g.client(t), Location: "westus2"}, Clock: clock})

	const newest = "2404gen2containerd 202604.2.0"
	if got := ids(t, images, class("1.34.1", nil)); got != newest {
		t.Errorf("the images are %s, want %s", got, newest)
	}
	once := g.lists
	g.versions["2404gen2containerd"] = []image.CommunityVersion{{Version: "202605.1.0", Published: day(30)}}
	if got := ids(t, images, class("1.34.1", nil)); got != newest || g.lists != once {
		t.Errorf("the images are %s after %d requests, want %s after %d", got, g.lists, newest, once)
	}
	if got := ids(t, images, class("1.35.0", nil)); got != "2404gen2containerd 202605.1.0" {
		t.Errorf("the images are %s for another version of Kubernetes", got)
	}
	earlier := "Ubuntu2204"
	if got := ids(t, images, class("1.34.1", func(c *v1beta1.AKSNodeClass) { c.Spec.ImageFamily = &earlier })); got != "2204gen2containerd 202603.1.0" {
		t.Errorf("the images are %s for another family", got)
	}
	clock.Step(3 * 24 * time.Hour)
	if got := ids(t, images, class("1.34.1", nil)); got != "2404gen2containerd 202605.1.0" {
		t.Errorf("the images are %s after three days", got)
	}
}

func TestNoImagesAreNotCached(t *testing.T) {
	g := &galleries{}
	images := discovery.NewImages(discovery.ImageOptions{
		Community: &discovery.Community{Client: g.client(t), Location: "westus2"}, Clock: clocktesting.NewFakeClock(time.Now()),
	})
	if got := ids(t, images, class("1.34.1", nil)); got != "" {
		t.Errorf("the images are %s", got)
	}
	g.versions = map[string][]image.CommunityVersion{"2404gen2containerd": {{Version: "202604.1.0", Published: time.Now()}}}
	if got := ids(t, images, class("1.34.1", nil)); got != "2404gen2containerd 202604.1.0" {
		t.Errorf("the images are %s", got)
	}
}

// sharedGalleries are the versions that AKS lists.
type sharedGalleries []image.SharedVersion

// Versions implements discovery.SharedGalleries.
func (s sharedGalleries) Versions(context.Context) ([]image.SharedVersion, error) {
	if s == nil {
		return nil, errors.New("no answer")
	}
	return s, nil
}

func TestSharedImages(t *testing.T) {
	t.Attr("covers", "Z116 Z119")
	clock := clocktesting.NewFakeClock(time.Now())
	shared := discovery.NewImages(discovery.ImageOptions{SharedSubscription: "aks", Clock: clock, Shared: sharedGalleries{
		{OS: "AKSUbuntu", SKU: "2404gen2containerd", Version: "202604.9.0"},
		{OS: "AKSUbuntu", SKU: "2404gen2containerd", Version: "202604.10.0"},
		{OS: "AKSAzureLinux", SKU: "2404containerd", Version: "202604.1.0"},
		{OS: "AKSWindows", SKU: "2404containerd", Version: "202604.1.0"},
		{OS: "AKSUbuntu", SKU: "2004gen2fipscontainerd", Version: "202604.1.0"},
	}})
	found, err := shared.Of(t.Context(), class("1.34.1", nil))
	const want = "/subscriptions/aks/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2404gen2containerd/versions/202604.10.0"
	if err != nil || len(found) != 1 || found[0].ID != want {
		t.Errorf("the images are %v, %v", found, err)
	}
	fips := func(c *v1beta1.AKSNodeClass) { mode := v1beta1.FIPSModeFIPS; c.Spec.FIPSMode = &mode }
	if got := ids(t, shared, class("1.34.1", fips)); got != "2004gen2fipscontainerd 202604.1.0" {
		t.Errorf("the images are %s", got)
	}

	community := discovery.NewImages(discovery.ImageOptions{Clock: clock})
	if _, err := community.Of(t.Context(), class("", fips)); !errors.Is(err, discovery.ErrSharedRequired) {
		t.Errorf("the error is %v", err)
	}
	unreachable := discovery.NewImages(discovery.ImageOptions{Clock: clock, Shared: sharedGalleries(nil)})
	if _, err := unreachable.Of(t.Context(), class("1.34.1", nil)); err == nil {
		t.Error("no error")
	}
	if _, err := shared.Of(t.Context(), class("", nil)); err == nil {
		t.Error("images without a version of Kubernetes")
	}
}
