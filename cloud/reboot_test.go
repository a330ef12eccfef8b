package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// rebooter answers reboots with an error that names the operation.
type rebooter struct{ err error }

func (r rebooter) Reboot(_ context.Context, claim *v1.NodeClaim, operationID string) error {
	return fmt.Errorf("%s %s: %w", claim.Name, operationID, r.err)
}

func TestReboot(t *testing.T) {
	t.Attr("covers", "N070")
	claim, denied := &v1.NodeClaim{}, errors.New("denied")
	claim.Name = "a"
	err := cloud.Cloud{Name: "fake"}.Reboot(t.Context(), claim, "1")
	if !cloud.IsRebootNotImplemented(err) || cloud.IsRebootRejected(err) || err.Error() != `cloud provider "fake" does not reboot instances` {
		t.Errorf("a cloud that does not reboot answers %v", err)
	}
	err = cloud.Cloud{Rebooter: rebooter{cloud.NewRebootRejectedError(denied)}}.Reboot(t.Context(), claim, "1")
	if !cloud.IsRebootRejected(err) || cloud.IsRebootNotImplemented(err) || !errors.Is(err, denied) || err.Error() != "a 1: denied" {
		t.Errorf("a rejected reboot answers %v", err)
	}
}
