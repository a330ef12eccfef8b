package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// deleteAttempts is how often Delete may be called before it must return that the instance does not exist.
const deleteAttempts = 20

// getAndListAgree: an instance that lives is found by its id, and described there as in the list.
func getAndListAgree(ctx context.Context, s Subject) error {
	created, err := launch(ctx, s)
	if err != nil {
		return err
	}
	id := created.Status.ProviderID
	got, err := s.Cloud.Provider.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("Get(%q): %w", id, err)
	}
	listed, err := s.Cloud.Provider.List(ctx)
	if err != nil {
		return fmt.Errorf("List: %w", err)
	}
	i := slices.IndexFunc(listed, func(c *v1.NodeClaim) bool { return c.Status.ProviderID == id })
	if i < 0 {
		return fmt.Errorf("List does not have instance %q", id)
	}
	if diff := cmp.Diff(got, listed[i]); diff != "" {
		return fmt.Errorf("Get and List describe %q differently (-get +list):\n%s", id, diff)
	}
	if got.Status.ProviderID != id || got.CreationTimestamp.IsZero() {
		return fmt.Errorf("instance %q is described with provider id %q, created %s", id, got.Status.ProviderID, got.CreationTimestamp)
	}
	return nil
}

func newInstanceIsNotDrifted(ctx context.Context, s Subject) error {
	created, err := launch(ctx, s)
	if err != nil {
		return err
	}
	reason, err := s.Cloud.Provider.IsDrifted(ctx, created)
	if err != nil {
		return fmt.Errorf("IsDrifted: %w", err)
	}
	if reason != "" {
		return fmt.Errorf("a new instance has drifted: %s", reason)
	}
	return nil
}

// unknownInstanceIsNotFound: ids that never were, ids of other clouds and no id at all are all not found.
func unknownInstanceIsNotFound(ctx context.Context, s Subject) error {
	created, err := launch(ctx, s)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range []string{created.Status.ProviderID + "0", "elsewhere://no-such-instance", ""} {
		if _, err := s.Cloud.Provider.Get(ctx, id); !cloud.IsNodeClaimNotFound(err) {
			errs = append(errs, fmt.Errorf("Get(%q): %w is not a NodeClaimNotFoundError", id, err))
		}
		claim := created.DeepCopy()
		claim.Status.ProviderID = id
		if err := s.Cloud.Provider.Delete(ctx, claim); !cloud.IsNodeClaimNotFound(err) {
			errs = append(errs, fmt.Errorf("Delete(%q): %w is not a NodeClaimNotFoundError", id, err))
		}
	}
	return errors.Join(append(errs, livesOnce(ctx, s, created.Status.ProviderID, 1))...)
}

// end calls Delete until the instance does not exist.
func end(ctx context.Context, s Subject, claim *v1.NodeClaim) error {
	for range deleteAttempts {
		err := s.Cloud.Provider.Delete(ctx, claim)
		if cloud.IsNodeClaimNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("Delete: %w", err)
		}
		if err := s.Pass(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("instance %q still exists after %d calls of Delete", claim.Status.ProviderID, deleteAttempts)
}

// deleteEndsInNotFound: Delete may take several calls, and then Get, List and Delete agree that the instance does not exist.
func deleteEndsInNotFound(ctx context.Context, s Subject) error {
	created, err := launch(ctx, s)
	if err != nil {
		return err
	}
	if err := end(ctx, s, created); err != nil {
		return err
	}
	id := created.Status.ProviderID
	if _, err := s.Cloud.Provider.Get(ctx, id); !cloud.IsNodeClaimNotFound(err) {
		return fmt.Errorf("Get after the end: %w is not a NodeClaimNotFoundError", err)
	}
	if err := s.Cloud.Provider.Delete(ctx, created); !cloud.IsNodeClaimNotFound(err) {
		return fmt.Errorf("Delete after the end: %w is not a NodeClaimNotFoundError", err)
	}
	listed, err := s.Cloud.Provider.List(ctx)
	if err != nil {
		return err
	}
	for _, c := range listed {
		if c.Status.ProviderID == id && c.DeletionTimestamp.IsZero() {
			return fmt.Errorf("List still has instance %q, and not as ending", id)
		}
	}
	return nil
}

func deleteLeavesOthersAlone(ctx context.Context, s Subject) error {
	doomed, err := launch(ctx, s)
	if err != nil {
		return err
	}
	other, err := launch(ctx, s)
	if err != nil {
		return err
	}
	if err := end(ctx, s, doomed); err != nil {
		return err
	}
	if _, err := s.Cloud.Provider.Get(ctx, other.Status.ProviderID); err != nil {
		return fmt.Errorf("Get of the other instance: %w", err)
	}
	return livesOnce(ctx, s, other.Status.ProviderID, 1)
}

// unknownInstanceIsNotRebooted: a reboot of an instance that does not exist is not found, unless the cloud reboots none.
func unknownInstanceIsNotRebooted(ctx context.Context, s Subject) error {
	created, err := launch(ctx, s)
	if err != nil {
		return err
	}
	claim := created.DeepCopy()
	claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{Type: v1.ConditionTypeRegistered, Status: metav1.ConditionTrue})
	var errs []error
	for _, id := range []string{created.Status.ProviderID + "0", "elsewhere://no-such-instance", ""} {
		claim.Status.ProviderID = id
		err := s.Cloud.Reboot(ctx, claim, "operation")
		if s.Cloud.Rebooter == nil && cloud.IsRebootNotImplemented(err) || cloud.IsNodeClaimNotFound(err) {
			continue
		}
		errs = append(errs, fmt.Errorf("Reboot(%q): %w is not a NodeClaimNotFoundError", id, err))
	}
	return errors.Join(errs...)
}
