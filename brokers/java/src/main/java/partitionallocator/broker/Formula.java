package partitionallocator.broker;

import static partitionallocator.broker.Group.NONE;

import java.util.Arrays;

/**
 * Where all members subscribe alike, no partition has two owners and racks do not matter: each member gets the average, rounded down
 * or up, and keeps what it owns up to that. One more goes first to members that own as many. What is left over is dealt in turns.
 */
final class Formula {
    static boolean applies(Group group) {
        boolean alike = Arrays.stream(group.subscriptions()).allMatch(topics -> topics.length == group.topics().length);
        return alike && group.racksOf() == null && owner(group) != null;
    }

    static int[] assign(Group group) {
        int[] room = room(group);
        int[] owner = owner(group);
        for (int partition = 0; partition < owner.length; partition++) {
            int member = owner[partition];
            if (member != NONE && --room[member] < 0) {
                owner[partition] = NONE;
                room[member] = 0;
            }
        }
        deal(owner, room);
        return owner;
    }

    /** The owner of each partition, or NONE; null if a partition has two. */
    private static int[] owner(Group group) {
        int[] owner = new int[group.partitions()];
        Arrays.fill(owner, NONE);
        for (int member = 0; member < group.members().length; member++) {
            for (int partition : group.owned()[member]) {
                if (owner[partition] != NONE) {
                    return null;
                }
                owner[partition] = member;
            }
        }
        return owner;
    }

    /** How many partitions each member gets. */
    private static int[] room(Group group) {
        int members = group.members().length;
        int each = group.partitions() / members;
        int more = group.partitions() % members;
        int[] room = new int[members];
        Arrays.fill(room, each);
        for (boolean ownsMore : new boolean[] {true, false}) {
            for (int member = 0; member < members && more > 0; member++) {
                if (group.owned()[member].length > each == ownsMore) {
                    room[member]++;
                    more--;
                }
            }
        }
        return room;
    }

    /** Deal what nobody owns, in turns, to members with room. */
    private static void deal(int[] owner, int[] room) {
        int[] turns = new int[room.length]; // those with room
        int size = 0;
        for (int member = 0; member < room.length; member++) {
            if (room[member] > 0) {
                turns[size++] = member;
            }
        }
        int at = 0;
        int kept = 0;
        for (int partition = 0; partition < owner.length; partition++) {
            if (owner[partition] != NONE) {
                continue;
            }
            if (at == size) { // the next round, without those that are full
                at = 0;
                size = kept;
                kept = 0;
            }
            int member = turns[at++];
            owner[partition] = member;
            if (--room[member] > 0) {
                turns[kept++] = member;
            }
        }
    }

    private Formula() { }
}
