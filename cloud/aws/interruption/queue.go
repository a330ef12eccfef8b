// Package interruption reads the SQS queue with interruption messages and drains nodes before they lose their instance.
//
// SQS delivers messages twice, late and in any order, and some are not for Karpenter. A message is deleted when it has been handled or
// cannot be parsed; one whose handling failed is delivered again. Handling a message is idempotent.
//
// Source: AWS provider specification, interruption and instance health.
package interruption

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// atOnce is how many messages are received, and handled, at the same time.
	atOnce = 10
	// hiddenFor and waitFor are the visibility timeout of messages and the wait time of a call, in seconds.
	hiddenFor, waitFor = 20, 20
	// answerWithin ends handling early enough for messages to be deleted before their visibility timeout.
	answerWithin = 15 * time.Second
)

// SQS reads and deletes messages.
type SQS interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Queue is the queue of messages. It is read by one goroutine.
type Queue struct {
	API  SQS
	Name string
	// Region is the region of the cluster; messages about others are deleted.
	Region string
	// Handle handles an event.
	Handle  func(context.Context, eventbridge.Event) error
	Clock   clock.PassiveClock
	Metrics *telemetry.Metrics

	// url is empty until it is known, and after the queue was deleted. account is the account of the queue, as its URL says.
	url, account string
}

// Poll waits for messages, handles them concurrently, and deletes those that are handled. Its error is about the queue: a message whose
// handling failed is delivered again, and does not delay others.
func (q *Queue) Poll(ctx context.Context) error {
	if err := q.find(ctx); err != nil {
		return err
	}
	answer, err := q.API.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(q.url), MaxNumberOfMessages: atOnce, VisibilityTimeout: hiddenFor, WaitTimeSeconds: waitFor,
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameSentTimestamp},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return q.lost(fmt.Errorf("receiving messages of queue %q: %w", q.Name, err))
	}
	answered := make([]bool, len(answer.Messages))
	var all sync.WaitGroup
	for n, m := range answer.Messages {
		all.Go(func() { answered[n] = q.handle(ctx, m) })
	}
	all.Wait()
	var done []sqstypes.DeleteMessageBatchRequestEntry
	for n, m := range answer.Messages {
		if answered[n] {
			done = append(done, sqstypes.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(n)), ReceiptHandle: m.ReceiptHandle})
		}
	}
	return q.remove(ctx, done)
}

// find reads the URL of the queue, once.
func (q *Queue) find(ctx context.Context) error {
	if q.url != "" {
		return nil
	}
	answer, err := q.API.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(q.Name)})
	if err != nil {
		return fmt.Errorf("finding queue %q: %w", q.Name, err)
	}
	q.url = aws.ToString(answer.QueueUrl)
	q.account = accountOf(q.url)
	observe.Log(ctx).DebugContext(ctx, "watching for interruptions", awsfield.Queue(q.Name))
	return nil
}

// accountOf is the account in the URL of a queue, such as https://sqs.us-east-1.amazonaws.com/123456789012/name.
func accountOf(queueURL string) string {
	parts := strings.Split(queueURL, "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[len(parts)-2]
}

// lost forgets the URL if the queue does not exist any more: a new queue of the same name may have another URL.
func (q *Queue) lost(err error) error {
	var gone *sqstypes.QueueDoesNotExist
	if errors.As(err, &gone) {
		q.url = ""
	}
	return err
}

// handle handles one message and reports whether it can be deleted, which includes messages that cannot be parsed.
func (q *Queue) handle(ctx context.Context, m sqstypes.Message) bool {
	told, err := read(m)
	if err != nil {
		observe.Log(ctx).ErrorContext(ctx, "deleting a message that cannot be parsed", awsfield.Queue(q.Name), awsfield.ID(aws.ToString(m.MessageId)), logfield.Error(err))
		return true
	}
	// Any principal that may send to the queue could drain nodes: events of another account or region are ignored.
	if told.Kind != eventbridge.NoOp && (told.Account != q.account || told.Region != q.Region) {
		observe.Log(ctx).WarnContext(ctx, "deleting a message about another account or region", awsfield.Queue(q.Name), awsfield.ID(aws.ToString(m.MessageId)),
			awsfield.Account(told.Account), awsfield.Region(told.Region))
		return true
	}
	q.Metrics.InterruptionReceived.WithLabelValues(string(told.Kind)).Inc()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := q.Handle(ctx, told); err != nil {
		observe.Log(ctx).ErrorContext(ctx, "handling a message failed, retrying when the queue delivers it again", awsfield.Queue(q.Name), awsfield.ID(aws.ToString(m.MessageId)),
			awsfield.MessageKind(string(told.Kind)), logfield.Error(err))
		return false
	}
	if !told.Time.IsZero() {
		q.Metrics.InterruptionQueueDuration.Observe(q.Clock.Since(told.Time).Seconds())
	}
	return true
}

// read reads a message.
func read(m sqstypes.Message) (eventbridge.Event, error) {
	if m.Body == nil {
		return eventbridge.Event{}, errors.New("it has no text")
	}
	return eventbridge.Parse([]byte(*m.Body))
}

// remove deletes messages. Those that cannot be deleted are delivered again.
func (q *Queue) remove(ctx context.Context, done []sqstypes.DeleteMessageBatchRequestEntry) error {
	if len(done) == 0 {
		return nil
	}
	answer, err := q.API.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(q.url), Entries: done})
	if err != nil {
		return q.lost(fmt.Errorf("deleting messages of queue %q: %w", q.Name, err))
	}
	q.Metrics.InterruptionDeleted.Add(float64(len(answer.Successful)))
	var errs []error
	for _, f := range answer.Failed {
		errs = append(errs, fmt.Errorf("deleting a message of queue %q: %s: %s", q.Name, aws.ToString(f.Code), aws.ToString(f.Message)))
	}
	return errors.Join(errs...)
}
