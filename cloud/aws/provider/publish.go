package provider

import (
	"context"
	"encoding/base64"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

const (
	// userDataLimit is how many bytes of user data EC2 takes, before they are encoded; userDataMuch is where users are warned.
	userDataLimit = 16384
	userDataMuch  = userDataLimit * 9 / 10
)

// UseRecorder sets the recorder of events. Call it before the controllers start.
func (p *Provider) UseRecorder(r *observe.Recorder) { p.recorder = r }

// publish publishes events, once there is a recorder.
func (p *Provider) publish(events ...observe.Event) {
	if p.recorder != nil {
		p.recorder.Publish(events...)
	}
}

// observeBatch records size and waiting time of batches of a kind.
func observeBatch(m *telemetry.Metrics, batcher string) func(int, time.Duration) {
	return func(size int, waited time.Duration) {
		m.BatchSize.WithLabelValues(batcher).Observe(float64(size))
		m.BatchTime.WithLabelValues(batcher).Observe(waited.Seconds())
	}
}

// sizes are the sizes of user data by class, and the settings in it that reach no node. The zero value is ready.
type sizes struct {
	mu      sync.Mutex
	byClass map[string]int
	dropped map[string]string
}

// dropped logs the user's settings that are left out of user data, once until they are others.
func (p *Provider) dropped(ctx context.Context, class string, settings []string) {
	text := strings.Join(settings, ",")
	p.sizes.mu.Lock()
	defer p.sizes.mu.Unlock()
	if p.sizes.dropped == nil {
		p.sizes.dropped = map[string]string{}
	}
	if p.sizes.dropped[class] == text {
		return
	}
	if p.sizes.dropped[class] = text; text != "" {
		observe.Log(ctx).ErrorContext(ctx, "unknown Kubernetes settings in user data are ignored", "EC2NodeClass", class, "settings", settings)
	}
}

// measure shows how large the user data of a launch is, and warns when it comes near the limit.
func (p *Provider) measure(ctx context.Context, class string, templates []*ec2.CreateLaunchTemplateInput) {
	size := 0
	for _, t := range templates {
		text, err := base64.StdEncoding.DecodeString(aws.ToString(t.LaunchTemplateData.UserData))
		if err != nil {
			continue // it was encoded here
		}
		size = max(size, len(text))
	}
	p.sizes.mu.Lock()
	defer p.sizes.mu.Unlock()
	if p.sizes.byClass == nil {
		p.sizes.byClass = map[string]int{}
	}
	if have, ok := p.sizes.byClass[class]; ok && have == size {
		return
	}
	p.sizes.byClass[class] = size
	p.Metrics.UserDataBytes.WithLabelValues(class).Set(float64(size))
	if size >= userDataMuch {
		observe.Log(ctx).WarnContext(ctx, "user data is close to the limit of EC2", "EC2NodeClass", class, "bytes", size, "threshold", userDataMuch, "limit", userDataLimit)
	}
}

// ForgetClass drops the cached data of a deleted class.
func (p *Provider) ForgetClass(name string) {
	p.sizes.mu.Lock()
	defer p.sizes.mu.Unlock()
	delete(p.sizes.byClass, name)
	delete(p.sizes.dropped, name)
	p.Metrics.UserDataBytes.DeleteLabelValues(name)
}
