// kafkajs's RoundRobinAssigner, called as its group leader does: what members say goes through the client's own bytes. Questions
// and answers are those of tests/support/go/leader. NODE_PATH says where kafkajs is.
const { createInterface } = require("node:readline");
const { AssignerProtocol, PartitionAssigners } = require("kafkajs");

async function run({ topics, members }) {
  const counts = new Map(topics.map((topic) => [topic.topic_name, topic.partitions_count]));
  const partitionsOf = (topic) => Array.from({ length: counts.get(topic) ?? 0 }, (_, partitionId) => ({ partitionId }));
  const assigner = PartitionAssigners.roundRobin({ cluster: { findTopicPartitionMetadata: partitionsOf } });
  const joined = members.map((member) => ({
    memberId: member.member_id,
    memberMetadata: assigner.protocol({ topics: member.topic_names }).metadata,
  }));
  // The leader assigns the topics of its own subscription. The first member is the leader.
  const assigned = await assigner.assign({ members: joined, topics: members[0].topic_names });
  const decoded = assigned.map(({ memberId, memberAssignment }) => [
    memberId,
    AssignerProtocol.MemberAssignment.decode(memberAssignment).assignment,
  ]);
  return Object.fromEntries(decoded);
}

async function answer({ request, runs }) {
  try {
    const answers = [];
    for (let i = 0; i < (runs ?? 1); i++) answers.push(await run(request));
    return { answers };
  } catch (error) {
    return { error: { message: `${error}` } };
  }
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
  }
})();
