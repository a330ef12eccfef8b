// Package profile manages the instance profiles that give instances the role of their class. When the role changes, it creates a new
// profile, so that running instances keep theirs; unused ones are garbage-collected.
//
// Source: AWS provider specification, instance profiles.
package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// rightFor is how long a verified profile is not checked again.
	rightFor = 15 * time.Minute
	// madeFor is how long a new profile is reused for its role and class while the status does not have it yet.
	madeFor = time.Minute
	// roleMissingFor is how long a missing role is remembered before the next attempt.
	roleMissingFor = time.Minute
	// protectedFor is how long new and replaced profiles are protected from collection.
	protectedFor = time.Hour
)

// IAM are the calls for instance profiles.
type IAM interface {
	GetInstanceProfile(context.Context, *iam.GetInstanceProfileInput, ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error)
	CreateInstanceProfile(context.Context, *iam.CreateInstanceProfileInput, ...func(*iam.Options)) (*iam.CreateInstanceProfileOutput, error)
	AddRoleToInstanceProfile(context.Context, *iam.AddRoleToInstanceProfileInput, ...func(*iam.Options)) (*iam.AddRoleToInstanceProfileOutput, error)
	RemoveRoleFromInstanceProfile(context.Context, *iam.RemoveRoleFromInstanceProfileInput, ...func(*iam.Options)) (*iam.RemoveRoleFromInstanceProfileOutput, error)
	DeleteInstanceProfile(context.Context, *iam.DeleteInstanceProfileInput, ...func(*iam.Options)) (*iam.DeleteInstanceProfileOutput, error)
	ListInstanceProfiles(context.Context, *iam.ListInstanceProfilesInput, ...func(*iam.Options)) (*iam.ListInstanceProfilesOutput, error)
}

// Options configure a Manager.
type Options struct {
	IAM             IAM
	Clock           clock.PassiveClock
	Cluster, Region string
	// Unique returns a unique text for the names of profiles.
	Unique func() string
}

// Manager creates and deletes instance profiles. Make one with NewManager. It is safe for concurrent use.
type Manager struct {
	Options
	right     *ttlcache.Cache[string, struct{}]
	made      *ttlcache.Cache[string, string]
	noRole    *ttlcache.Cache[string, error]
	protected *ttlcache.Cache[string, struct{}]
}

// NewManager returns a manager with an empty cache.
func NewManager(o Options) *Manager {
	return &Manager{
		Options: o, right: ttlcache.New[string, struct{}](o.Clock, rightFor), made: ttlcache.New[string, string](o.Clock, madeFor),
		noRole: ttlcache.New[string, error](o.Clock, roleMissingFor), protected: ttlcache.New[string, struct{}](o.Clock, protectedFor),
	}
}

// Ensure returns the profile for instances of the class: the configured one, the recorded one if it is valid, or a new one.
func (k *Manager) Ensure(ctx context.Context, class *awsv1.EC2NodeClass) (string, error) {
	if own := class.Spec.InstanceProfile; own != nil {
		if class.Status.InstanceProfile != "" && class.Status.InstanceProfile != *own {
			k.protected.Set(class.Status.InstanceProfile, struct{}{})
		}
		return *own, nil
	}
	role := resourcetags.RoleName(class.Spec.Role)
	key := role + "/" + string(class.UID)
	if err, ok := k.noRole.Get(key); ok {
		return "", err
	}
	if current := class.Status.InstanceProfile; current != "" {
		right, err := k.isRight(ctx, current, role)
		if err != nil {
			return "", err
		}
		if right {
			return current, nil
		}
		k.protected.Set(current, struct{}{})
	}
	name, err := k.made.GetOrLoad(ctx, key, func(ctx context.Context) (string, error) { return k.create(ctx, class, role) })
	if awserrors.IsNotFound(err) && strings.Contains(err.Error(), "role") {
		k.noRole.Set(key, err)
	}
	return name, err
}

// isRight reports whether a profile exists and has the role.
func (k *Manager) isRight(ctx context.Context, name, role string) (bool, error) {
	key := name + "/" + role
	if _, ok := k.right.Get(key); ok {
		return true, nil
	}
	answer, err := k.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	switch {
	case awserrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("getting instance profile %q: %w", name, err)
	case answer.InstanceProfile == nil || !slices.ContainsFunc(answer.InstanceProfile.Roles, func(r iamtypes.Role) bool { return aws.ToString(r.RoleName) == role }):
		return false, nil
	}
	k.right.Set(key, struct{}{})
	return true, nil
}

// create creates a profile with the role. It deletes a profile that cannot be completed.
func (k *Manager) create(ctx context.Context, class *awsv1.EC2NodeClass, role string) (string, error) {
	name := resourcetags.ProfileName(k.Cluster, k.Region, class.Name, k.Unique())
	in := &iam.CreateInstanceProfileInput{
		InstanceProfileName: aws.String(name), Path: aws.String(resourcetags.ProfilePath(k.Region, k.Cluster, string(class.UID))),
	}
	tags := resourcetags.ProfileTags(class.Spec.Tags, k.Cluster, k.Region, class.Name)
	for key, value := range tags {
		in.Tags = append(in.Tags, iamtypes.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	slices.SortFunc(in.Tags, func(a, b iamtypes.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	if _, err := k.IAM.CreateInstanceProfile(ctx, in); err != nil && !awserrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating instance profile %q: %w", name, err)
	}
	k.protected.Set(name, struct{}{})
	_, err := k.IAM.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: aws.String(role)})
	if err != nil {
		err = fmt.Errorf("adding role %q to instance profile %q: %w", role, name, err)
		if removing := k.remove(ctx, name, k.below(*in.Path)); removing != nil {
			err = errors.Join(err, removing)
		}
		return "", err
	}
	return name, nil
}

// owner reports whether a profile belongs to what is being cleaned up.
type owner func(*iamtypes.InstanceProfile) bool

// below owns the profiles of the cluster below a path.
func (k *Manager) below(path string) owner {
	return func(p *iamtypes.InstanceProfile) bool {
		return strings.HasPrefix(aws.ToString(p.Path), path) && tagOf(p, awsv1.ClusterOwnedTag(k.Cluster)) == awsv1.TagValueOwned
	}
}

// ofClass owns the profile of a class that earlier releases gave a fixed name.
func (k *Manager) ofClass(class string) owner {
	return func(p *iamtypes.InstanceProfile) bool {
		return tagOf(p, awsv1.ClusterOwnedTag(k.Cluster)) == awsv1.TagValueOwned && tagOf(p, awsv1.TagNodeClass) == class
	}
}

// tagOf is the value of a tag; empty if it is missing.
func tagOf(p *iamtypes.InstanceProfile, key string) string {
	for _, tag := range p.Tags {
		if aws.ToString(tag.Key) == key {
			return aws.ToString(tag.Value)
		}
	}
	return ""
}

// remove removes the roles from a profile and deletes it, if the answer of IAM shows that it is owned: names come from lists whose filter
// is not trusted. A missing profile is not an error.
func (k *Manager) remove(ctx context.Context, name string, owned owner) error {
	answer, err := k.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if awserrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting instance profile %q: %w", name, err)
	}
	if answer.InstanceProfile == nil || !owned(answer.InstanceProfile) {
		observe.Log(ctx).WarnContext(ctx, "the instance profile is not deleted: its path and tags are not those of this cluster", awsfield.InstanceProfile(name))
		return nil
	}
	for _, role := range answer.InstanceProfile.Roles {
		_, err := k.IAM.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: role.RoleName})
		if err != nil && !awserrors.IsNotFound(err) {
			return fmt.Errorf("removing role %q from instance profile %q: %w", aws.ToString(role.RoleName), name, err)
		}
	}
	_, err = k.IAM.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil && !awserrors.IsNotFound(err) {
		return fmt.Errorf("deleting instance profile %q: %w", name, err)
	}
	return nil
}

// list are the names of the profiles below a path.
func (k *Manager) list(ctx context.Context, path string) ([]string, error) {
	var out []string
	pages := iam.NewListInstanceProfilesPaginator(k.IAM, &iam.ListInstanceProfilesInput{PathPrefix: aws.String(path)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing instance profiles below %q: %w", path, err)
		}
		for _, p := range page.InstanceProfiles {
			if strings.HasPrefix(aws.ToString(p.Path), path) {
				out = append(out, aws.ToString(p.InstanceProfileName))
			}
		}
	}
	return out, nil
}

// RemoveAll deletes the profiles of a deleted class, under both naming schemes. It does not touch profiles of the user.
func (k *Manager) RemoveAll(ctx context.Context, class *awsv1.EC2NodeClass) error {
	path := resourcetags.ProfilePath(k.Region, k.Cluster, string(class.UID))
	names, err := k.list(ctx, path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := k.remove(ctx, name, k.below(path)); err != nil {
			return err
		}
	}
	if legacy, ok := resourcetags.LegacyProfileName(k.Cluster, k.Region, class.Name); ok {
		return k.remove(ctx, legacy, k.ofClass(class.Name))
	}
	return nil
}

// Collect deletes the unused profiles of the cluster: those that are not in used, and that are neither
// new nor recently replaced.
func (k *Manager) Collect(ctx context.Context, used map[string]bool) error {
	path := resourcetags.ProfilePath(k.Region, k.Cluster, "")
	names, err := k.list(ctx, path)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if _, kept := k.protected.Get(name); kept || used[name] {
			continue
		}
		errs = append(errs, k.remove(ctx, name, k.below(path)))
	}
	return errors.Join(errs...)
}
