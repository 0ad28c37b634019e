#!/usr/bin/perl
# An SNPP server of level 3 by Net::SNPP::Server (Debian's libnet-snpp-perl), for tests: perl snpp_server.pl FOLDER
# Says what happens, one JSON object a line: {"event":"listening","port":N}, {"event":"page",…}, {"event":"asked",…}.
# Pagers that end in 0 are unknown. Of two-way pages, those that end in 8 stay queued, those that end in 9 are answered
# in words, all others by their first choice. The first question for a page finds it delivered and not answered.
use strict;
use warnings;
use JSON::PP;
use Net::SNPP::Server;
use Socket qw(unpack_sockaddr_in);

my ($folder) = @ARGV;
$| = 1;
$SIG{CHLD} = 'IGNORE';

# A whole line in one write, so that those of several processes do not mix.
sub say_event {
    my (%event) = @_;
    my $line = JSON::PP->new->canonical->encode(\%event) . "\n";
    syswrite(STDOUT, $line);
}

my $server = Net::SNPP::Server->new(Port => 0);
$server->callback('write_log', sub { });
$server->callback('validate_pager_id', sub { my ($id) = @_; defined $id && $id =~ /^\d{4,20}$/ && $id !~ /0$/ ? $id : undef });
$server->callback('validate_pager_pin', sub { $_[0] ? ($_[1] || 1) : undef });

my $pager = '';
my $first_choice = '';
$server->callback('process_page', sub {
    my ($whom, $page) = @_;
    $pager = $whom->[0];
    my $choices = $page->{responses} || {};
    ($first_choice) = sort keys %$choices;
    say_event(event => 'page', pager => $pager, text => $page->{mess}, two_way => $page->{twoway} ? JSON::PP::true : JSON::PP::false,
        choices => $choices);
    return 1;
});

my $count = 0;
$server->callback('create_id_and_pin', sub {
    $count++;
    my $tag = sprintf('%d%06d%03d', time() % 1_000_000, $$ % 1_000_000, $count);
    open(my $record, '>', "$folder/$tag") or die "cannot write $folder/$tag: $!";
    print $record join("\t", $pager, $first_choice // '', 0), "\n";
    close($record);
    return ($tag, '4711');
});

# 4.6.10: MSTAtus <Message_Tag> <Pass_Code>
$server->custom_command('MSTA', sub {
    my ($tag, $pass) = @_;
    my $unknown = '550 Unknown or Illegal Message_Tag or Pass_Code';
    return ($unknown, 1) unless defined $pass && $pass eq '4711' && $tag =~ /^\d+$/;
    open(my $record, '<', "$folder/$tag") or return ($unknown, 1);
    chomp(my $line = <$record>);
    close($record);
    my ($whom, $choice, $asked) = split(/\t/, $line);
    say_event(event => 'asked', pager => $whom, tag => $tag);
    open($record, '>', "$folder/$tag") or die "cannot write $folder/$tag: $!";
    print $record join("\t", $whom, $choice, $asked + 1), "\n";
    close($record);
    my $at = '261127120000+0';
    return ("960 1 $at Message Queued; Awaiting Delivery", 1) if $whom =~ /8$/;
    return ("861 2 $at Delivered, Awaiting Reply (MCR)", 1) if $asked == 0;
    return ("889 3 $at On my way", 1) if $whom =~ /9$/ || $choice eq '';
    return ("888 3 $at $choice MCR Reply Received", 1);
});
$server->custom_command('KTAG', sub {
    my ($tag) = @_;
    unlink("$folder/$tag") if defined $tag && $tag =~ /^\d+$/;
    return ('250 Message Tag Killed', 1);
});

my ($port) = unpack_sockaddr_in(getsockname($server->socket()));
say_event(event => 'listening', port => $port + 0);
while (1) {
    my $client = $server->client();
    next unless defined fileno($client);
    $client->autoflush(1);
    my $child = fork();
    die "cannot fork: $!" unless defined $child;
    if ($child == 0) {
        $server->handle_client($client);
        exit 0;
    }
    close($client);
}
