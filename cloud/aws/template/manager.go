package template

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

const (
	// unusedFor is how long a template may be unused before it is deleted.
	unusedFor = time.Minute
	listPage  = 200
)

// EC2 are the calls for launch templates.
type EC2 interface {
	DescribeLaunchTemplates(context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error)
	CreateLaunchTemplate(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error)
	DeleteLaunchTemplate(context.Context, *ec2.DeleteLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error)
}

// Manager creates launch templates and deletes those that are no longer used. Make one with NewManager. It is safe for concurrent use:
// launches that need the same template share the calls about it, and no lock is held during a call, so that one that hangs delays no others.
type Manager struct {
	api     EC2
	clock   clock.PassiveClock
	cluster string

	mu    sync.Mutex
	known map[string]known // by name

	// ensuring are the calls in progress, by name.
	ensuring singleflight.Group
}

// known is an existing template.
type known struct {
	id   string
	used time.Time
}

// NewManager returns a manager with an empty cache.
func NewManager(api EC2, now clock.PassiveClock, cluster string) *Manager {
	return &Manager{api: api, clock: now, cluster: cluster, known: map[string]known{}}
}

// Ensure creates a template if it does not exist, and records its use.
func (k *Manager) Ensure(ctx context.Context, in *ec2.CreateLaunchTemplateInput) error {
	name := aws.ToString(in.LaunchTemplateName)
	if k.use(name) {
		return nil
	}
	done := k.ensuring.DoChan(name, func() (any, error) {
		if k.use(name) {
			return nil, nil
		}
		// Other launches may wait for this call: the end of one of them does not end it. The client of AWS has a timeout.
		ctx := context.WithoutCancel(ctx)
		id, err := k.find(ctx, name)
		if awserrors.IsLaunchTemplateMissing(err) {
			id, err = k.create(ctx, in)
		}
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.known[name] = known{id, k.clock.Now()}
		return nil, nil
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return fmt.Errorf("waiting for launch template %q: %w", name, ctx.Err())
	}
}

// use records the use of a template, and reports whether it exists.
func (k *Manager) use(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	have, ok := k.known[name]
	if ok {
		have.used = k.clock.Now()
		k.known[name] = have
	}
	return ok
}

func (k *Manager) find(ctx context.Context, name string) (string, error) {
	answer, err := k.api.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}})
	if err != nil {
		return "", fmt.Errorf("looking for launch template %q: %w", name, err)
	}
	if n := len(answer.LaunchTemplates); n != 1 {
		return "", fmt.Errorf("looking for launch template %q: there are %d", name, n)
	}
	return aws.ToString(answer.LaunchTemplates[0].LaunchTemplateId), nil
}

func (k *Manager) create(ctx context.Context, in *ec2.CreateLaunchTemplateInput) (string, error) {
	answer, err := k.api.CreateLaunchTemplate(ctx, in)
	if err != nil {
		return "", fmt.Errorf("creating launch template %q: %w", aws.ToString(in.LaunchTemplateName), err)
	}
	if answer.LaunchTemplate == nil {
		return "", fmt.Errorf("creating launch template %q: the answer has none", aws.ToString(in.LaunchTemplateName))
	}
	id := aws.ToString(answer.LaunchTemplate.LaunchTemplateId)
	observe.Log(ctx).DebugContext(ctx, "created launch template", awsfield.LaunchTemplateName(aws.ToString(in.LaunchTemplateName)), awsfield.LaunchTemplateID(id))
	return id, nil
}

// Forget drops templates from the cache, without deleting them: EC2 reported that they do not exist.
func (k *Manager) Forget(names ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range names {
		delete(k.known, name)
	}
}

// Hydrate adds the existing launch templates of the cluster to the cache, so that those of earlier runs expire too.
func (k *Manager) Hydrate(ctx context.Context) error {
	found, err := k.list(ctx, "")
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range found {
		if name := aws.ToString(t.LaunchTemplateName); k.known[name].id == "" {
			k.known[name] = known{aws.ToString(t.LaunchTemplateId), k.clock.Now()}
		}
	}
	return nil
}

// DeleteExpired deletes launch templates that were not used for a while. Failures are retried by the next call. A launch that finds a
// template in the moment before it is deleted creates it again.
func (k *Manager) DeleteExpired(ctx context.Context) error {
	var errs []error
	for name, have := range k.takeExpired() {
		_, err := k.api.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: aws.String(have.id)})
		if err != nil && !awserrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("removing launch template %q: %w", name, err))
			k.putBack(name, have)
			continue
		}
		observe.Log(ctx).DebugContext(ctx, "deleted launch template", awsfield.LaunchTemplateName(name), awsfield.LaunchTemplateID(have.id))
	}
	return errors.Join(errs...)
}

// takeExpired removes the templates that were not used for a while from the cache.
func (k *Manager) takeExpired() map[string]known {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]known{}
	for name, have := range k.known {
		if k.clock.Since(have.used) >= unusedFor {
			out[name] = have
			delete(k.known, name)
		}
	}
	return out
}

// putBack adds a template that could not be deleted to the cache, unless it is in use again.
func (k *Manager) putBack(name string, have known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.known[name]; !ok {
		k.known[name] = have
	}
}

// RemoveAll deletes the templates of a class.
func (k *Manager) RemoveAll(ctx context.Context, class string) error {
	found, err := k.list(ctx, class)
	if err != nil {
		return err
	}
	for _, t := range found {
		_, err := k.api.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: t.LaunchTemplateName})
		if err != nil && !awserrors.IsNotFound(err) {
			return fmt.Errorf("removing launch template %q: %w", aws.ToString(t.LaunchTemplateName), err)
		}
		k.Forget(aws.ToString(t.LaunchTemplateName))
	}
	return nil
}

func tagFilter(key, value string) ec2types.Filter {
	return ec2types.Filter{Name: aws.String("tag:" + key), Values: []string{value}}
}

// list are the launch templates of the cluster, or those of one of its classes. They may be deleted, so that the tags in the answer
// decide and not the filter of the request.
func (k *Manager) list(ctx context.Context, class string) ([]ec2types.LaunchTemplate, error) {
	filters, tags := []ec2types.Filter{tagFilter(awsv1.TagClusterName, k.cluster)}, map[string]string{awsv1.TagClusterName: k.cluster}
	if class != "" {
		filters, tags[awsv1.TagNodeClass] = append(filters, tagFilter(awsv1.TagNodeClass, class)), class
	}
	var out []ec2types.LaunchTemplate
	pages := ec2.NewDescribeLaunchTemplatesPaginator(k.api, &ec2.DescribeLaunchTemplatesInput{Filters: filters, MaxResults: aws.Int32(listPage)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing launch templates: %w", err)
		}
		for _, t := range page.LaunchTemplates {
			if hasTags(t.Tags, tags) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// hasTags reports whether tags with certain values are among others.
func hasTags(have []ec2types.Tag, want map[string]string) bool {
	found := map[string]string{}
	for _, tag := range have {
		found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for key, value := range want {
		if got, ok := found[key]; !ok || got != value {
			return false
		}
	}
	return true
}
