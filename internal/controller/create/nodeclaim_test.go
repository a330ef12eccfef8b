package create_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// fate is the outcome of one write.
type fate struct {
	done   bool
	answer error
}

// TestCreateNodeClaim: a lost response never creates two NodeClaims, and the caller learns whether there may be one.
func TestCreateNodeClaim(t *testing.T) {
	resource := schema.GroupResource{Resource: "nodeclaims"}
	internal := apierrors.NewInternalError(errors.New("etcd is slow"))
	gone := &url.Error{Op: "Post", Err: io.EOF}
	refused := &url.Error{Op: "Post", Err: syscall.ECONNREFUSED}
	conflict := apierrors.NewConflict(resource, "", errors.New("oh"))
	taken := apierrors.NewAlreadyExists(resource, "x")
	for _, c := range []struct {
		name          string
		fates         []fate
		fails, doubts bool
		exists        int
	}{
		{"all is well", nil, false, false, 1},
		{"the answer is lost", []fate{{true, internal}}, false, false, 1},
		{"the connection is lost after the write", []fate{{true, gone}}, false, false, 1},
		{"it failed and works the second time", []fate{{false, internal}}, false, false, 1},
		{"two answers are lost", []fate{{false, gone}, {true, internal}}, false, false, 1},
		{"every answer is lost", []fate{{true, gone}, {false, gone}, {false, gone}}, true, true, 1},
		{"nothing works", []fate{{false, internal}, {false, internal}, {false, internal}}, true, true, 0},
		{"refused", []fate{{false, conflict}}, true, false, 0},
		{"throttled", []fate{{false, apierrors.NewTooManyRequests("slow down", 1)}}, true, false, 0},
		{"refused after a doubt", []fate{{true, internal}, {false, conflict}}, false, false, 1},
		{"still in doubt", []fate{{true, internal}, {false, conflict}, {false, conflict}}, true, true, 1},
		{"connection refused", []fate{{false, refused}}, true, false, 0},
		{"the name is taken", []fate{{false, taken}}, false, false, 1},
		{"every name is taken", []fate{{false, taken}, {false, taken}, {false, taken}}, true, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			fates, names := c.fates, map[string]bool{}
			api := apiserver.New().WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					names[obj.GetName()] = true
					if len(fates) == 0 {
						return inner.Create(ctx, obj, opts...)
					}
					now := fates[0]
					fates = fates[1:]
					if now.done {
						if err := inner.Create(ctx, obj, opts...); err != nil {
							t.Fatal(err)
						}
					}
					return now.answer
				},
			}).Build()
			claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "default-"}}
			var logged []string
			err := create.New(clock.RealClock{}).NodeClaim(t.Context(), api, claim, func(name string) { logged = append(logged, name) })
			if (err != nil) != c.fails || create.OutcomeUnknown(err) != c.doubts {
				t.Errorf("error %v, in doubt %t; want an error %t, in doubt %t", err, create.OutcomeUnknown(err), c.fails, c.doubts)
			}
			var list v1.NodeClaimList
			if err := api.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			if len(list.Items) != c.exists || c.exists > 0 && list.Items[0].Name != claim.Name {
				t.Errorf("%d claims, of which %q is ours; want %d", len(list.Items), claim.Name, c.exists)
			}
			if strings.Contains(c.name, "taken") && len(names) < 2 {
				t.Error("no other name was drawn")
			}
			if err == nil && !slices.Equal(logged, []string{claim.Name}) || err != nil && len(logged) > 0 {
				t.Errorf("logged the creation of %q, error %v", logged, err)
			}
			if len(fates) > 0 {
				t.Errorf("%d fates were not met", len(fates))
			}
		})
	}
}

func TestNamesAreNotTooLong(t *testing.T) {
	api := apiserver.New().Build()
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: strings.Repeat("x", 80) + "-"}}
	if err := create.New(clock.RealClock{}).NodeClaim(t.Context(), api, claim, func(string) {}); err != nil || len(claim.Name) != 63 {
		t.Errorf("name %q of %d bytes, error %v", claim.Name, len(claim.Name), err)
	}
}

// TestClaimsAreBornWithTheirFinalizer: NodeClaims are created with the finalizer, which saves a write before the launch.
func TestClaimsAreBornWithTheirFinalizer(t *testing.T) {
	api := apiserver.New().Build()
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "pool-"}}
	if err := create.New(clock.RealClock{}).NodeClaim(t.Context(), api, claim, func(string) {}); err != nil {
		t.Fatal(err)
	}
	stored := &v1.NodeClaim{}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(claim), stored); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(stored.Finalizers, v1.TerminationFinalizer) {
		t.Errorf("finalizers are %v", stored.Finalizers)
	}
}

// TestCreationIsLoggedBeforeTheLaunch: the log has the creation first, also when the NodeClaim is launched before the response to its
// creation arrives, and when that response is lost.
func TestCreationIsLoggedBeforeTheLaunch(t *testing.T) {
	for name, answer := range map[string]error{"a late response": nil, "no clear response": &url.Error{Op: "Post", Err: io.EOF}} {
		t.Run(name, func(t *testing.T) {
			creations, log := create.New(clock.RealClock{}), []string{}
			api := apiserver.New().WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
					creations.Exists(obj.GetName())
					log = append(log, "launched "+obj.GetName())
					return answer
				},
			}).Build()
			claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "default-"}}
			err := creations.NodeClaim(t.Context(), api, claim, func(name string) { log = append(log, "created "+name) })
			if (err != nil) != (answer != nil) {
				t.Fatalf("error %v", err)
			}
			if len(log) < 2 || log[0] != "created "+claim.Name || log[1] != "launched "+claim.Name {
				t.Errorf("logged %q", log)
			}
			if created := slices.DeleteFunc(log, func(line string) bool { return strings.HasPrefix(line, "launched") }); len(created) != 1 {
				t.Errorf("logged %q", created)
			}
		})
	}
}
