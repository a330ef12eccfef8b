package nodeclass_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeclass"
)

const (
	start = "aksManagedNodeOSUpgradeSchedule-start"
	end   = "aksManagedNodeOSUpgradeSchedule-end"
)

// window is the ConfigMap of a maintenance window.
func window(from, to time.Time) *corev1.ConfigMap {
	return configMap(map[string]string{start: from.Format(time.RFC3339), end: to.Format(time.RFC3339)})
}

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "upcoming-maintenance-window"}, Data: data}
}

func TestNewerImagesWaitForTheMaintenanceWindow(t *testing.T) {
	t.Attr("covers", "Z122 Z123 Z124 Z235")
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for _, c := range []struct {
		name   string
		window *corev1.ConfigMap
		open   bool
		err    string
	}{
		{"there is none", nil, true, ""},
		{"no data", configMap(nil), true, ""},
		{"empty", configMap(map[string]string{start: "", end: ""}), true, ""},
		{"open", window(now.Add(-time.Hour), now.Add(time.Hour)), true, ""},
		{"open in another time zone", configMap(map[string]string{start: "2026-05-01T13:59:00+02:00", end: "2026-05-01T14:01:00+02:00"}), true, ""},
		{"later", window(now.Add(time.Hour), now.Add(2*time.Hour)), false, ""},
		{"over", window(now.Add(-2*time.Hour), now.Add(-time.Hour)), false, ""},
		{"begins now", window(now, now.Add(time.Hour)), false, ""},
		{"ends now", window(now.Add(-time.Hour), now), false, ""},
		{"begins and ends now", window(now, now), false, ""},
		{"of no length, an hour ago", window(now.Add(-time.Hour), now.Add(-time.Hour)), false, ""},
		{"ends before it begins, around now", window(now.Add(time.Hour), now.Add(-time.Hour)), false, ""},
		{"begins now in another time zone", configMap(map[string]string{start: "2026-05-01T14:00:00+02:00", end: "2026-05-01T13:00:00Z"}), false, ""},
		{"not RFC 3339", configMap(map[string]string{start: "2026-05-01 11:00", end: "2026-05-01T13:00:00Z"}), false, "parsing " + start},
		{"no start", configMap(map[string]string{end: at(0)}), false, start + " is missing"},
		{"no end", configMap(map[string]string{start: at(0)}), false, end + " is missing"},
		{"a bad start", configMap(map[string]string{start: "today", end: at(0)}), false, "parsing " + start},
		{"a bad end", configMap(map[string]string{start: at(0), end: "tomorrow"}), false, "parsing " + end},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.settled()
			if c.window != nil {
				w.create(c.window)
			}
			// Of the definitions, one is gone, one is new, and one has a newer version.
			w.images = append(images("202605.1.0")[:1], v1beta1.NodeImage{ID: "/CommunityGalleries/AKSUbuntu/images/2404gen2arm64containerd/versions/202605.1.0"})
			class, _, err := w.reconcile()
			want := "2404gen2containerd 202604.1.0, 2404gen2arm64containerd 202605.1.0"
			switch {
			case c.err != "":
				want = "2404gen2containerd 202604.1.0, 2404containerd 202604.1.0"
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the error is %v, want %q", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case c.open:
				want = "2404gen2containerd 202605.1.0, 2404gen2arm64containerd 202605.1.0"
			}
			if got := versions(class); got != want {
				t.Errorf("the images are %s, want %s", got, want)
			}
		})
	}
}

// unreadable is a cluster whose ConfigMaps cannot be read.
type unreadable struct{ client.Reader }

// Get implements client.Reader.
func (u unreadable) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	if _, ok := into.(*corev1.ConfigMap); ok {
		return errors.New("the API server is away")
	}
	return u.Reader.Get(ctx, key, into, o...)
}

// TestAnUnreadableMaintenanceWindow checks that images stay if it is not known whether nodes may get newer ones, and that the rest of the status
// is kept up to date.
func TestAnUnreadableMaintenanceWindow(t *testing.T) {
	t.Attr("covers", "Z236")
	w := newWorld(t, func(o *nodeclass.Options) { o.Reader = unreadable{o.Reader} })
	before, _ := w.settled() // there were no images, so no window is needed
	w.images = images("202605.1.0")
	w.subnets[clusterSubnet] = answer(http.StatusNotFound)
	class, _, err := w.reconcile()
	if err == nil || !strings.Contains(err.Error(), "reading the maintenance window") {
		t.Errorf("the error is %v", err)
	}
	if versions(class) != versions(before) {
		t.Errorf("the images are %s, were %s", versions(class), versions(before))
	}
	expect(t, class, v1beta1.ConditionTypeImagesReady, "True")
	expect(t, class, v1beta1.ConditionTypeSubnetsReady, "False SubnetNotFound")
}
