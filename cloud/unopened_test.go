package cloud_test

import (
	"errors"
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Every call of a cloud without an account says what is missing, and answers nothing.
func TestUnopened(t *testing.T) {
	missing := errors.New("a cluster is needed")
	u, ctx := cloud.Unopened{Err: missing}, t.Context()
	for name, call := range map[string]func() (answered bool, err error){
		"Create": func() (bool, error) { claim, err := u.Create(ctx, &v1.NodeClaim{}); return claim != nil, err },
		"Delete": func() (bool, error) { return false, u.Delete(ctx, &v1.NodeClaim{}) },
		"Get":    func() (bool, error) { claim, err := u.Get(ctx, "azure:///a"); return claim != nil, err },
		"List":   func() (bool, error) { claims, err := u.List(ctx); return claims != nil, err },
		"InstanceTypes": func() (bool, error) {
			types, err := u.InstanceTypes(ctx, &v1.NodePool{})
			return types != nil, err
		},
		"IsDrifted": func() (bool, error) {
			reason, err := u.IsDrifted(ctx, &v1.NodeClaim{})
			return reason != "", err
		},
	} {
		answered, err := call()
		if answered {
			t.Errorf("%s answered", name)
		}
		if !errors.Is(err, missing) {
			t.Errorf("%s: error %v, want %v", name, err, missing)
		}
	}
}
