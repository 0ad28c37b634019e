#!/usr/bin/env escript
%%! -kernel logger_level error
%% Erlang/OTP's diameter as a client of a credit-control server. Arguments: port, folder for what is compiled.
%% Says what happens, one JSON object a line; does what its standard input says, a word a line.
-module(credit).
-include_lib("diameter/include/diameter.hrl").
-mode(compile).
-export([peer_up/3, peer_down/3, pick_peer/4, prepare_request/3, prepare_retransmit/3, handle_answer/4,
         handle_error/4, handle_request/3]).

-define(SERVICE, credit_client).
-define(HOST, "erlang.client.test").
-define(REALM, "client.test").
-define(SERVER_REALM, "charging.test").
-define(DICTIONARY, credit_dict).

main([Port, Folder]) ->
    Here = filename:dirname(filename:absname(escript:script_name())),
    ok = diameter_make:codec(filename:join(Here, "credit.dia"), [{outdir, Folder}]),
    {ok, ?DICTIONARY, Beam} =
        compile:file(filename:join(Folder, "credit_dict.erl"), [binary, {i, Folder}, nowarn_unused_record]),
    {module, ?DICTIONARY} = code:load_binary(?DICTIONARY, "credit_dict.beam", Beam),
    ok = diameter:start(),
    true = diameter:subscribe(?SERVICE),
    ok = diameter:start_service(?SERVICE, service()),
    {ok, Ref} = diameter:add_transport(?SERVICE, transport(list_to_integer(Port))),
    Self = self(),
    spawn_link(fun() -> read(Self) end),
    say("started", []),
    loop(Ref, none).

service() ->
    [{'Origin-Host', ?HOST},
     {'Origin-Realm', ?REALM},
     {'Vendor-Id', 0},
     {'Product-Name', "Erlang/OTP diameter"},
     {'Auth-Application-Id', [4]},
     {decode_format, map},
     {string_decode, false},
     {application, [{alias, cc}, {dictionary, ?DICTIONARY}, {module, ?MODULE}]}].

transport(Port) ->
    {connect, [{transport_module, diameter_tcp},
               {transport_config, [{raddr, {127, 0, 0, 1}}, {rport, Port}, {reuseaddr, true}]},
               {watchdog_timer, 6000},
               %% So long it waits for a DPA: who ends earlier has heard it.
               {dpa_timeout, 60000},
               {connect_timer, 1000}]}.

read(To) ->
    case io:get_line("") of
        eof -> halt(0);
        {error, _} -> halt(1);
        Line -> To ! {told, string:trim(Line)}, read(To)
    end.

loop(Ref, Session) ->
    receive
        {diameter_event, ?SERVICE, {up, Ref, _, _, #diameter_packet{msg = Msg}}} ->
            ['CEA' | Cea] = Msg,
            say("up", [{"code", maps:get('Result-Code', Cea)}, {"host", maps:get('Origin-Host', Cea)}]),
            loop(Ref, Session);
        {diameter_event, ?SERVICE, {down, Ref, _, _}} ->
            say("down", []),
            loop(Ref, Session);
        {diameter_event, ?SERVICE, {watchdog, Ref, _, {From, To}, _}} ->
            say("watchdog", [{"from", atom_to_list(From)}, {"to", atom_to_list(To)}]),
            loop(Ref, Session);
        {diameter_event, ?SERVICE, Other} when element(1, Other) =:= closed ->
            say("closed", [{"reason", lists:flatten(io_lib:format("~0p", [Other]))}]),
            loop(Ref, Session);
        {diameter_event, ?SERVICE, _} ->
            loop(Ref, Session);
        {told, "event"} ->
            ask(session(), 4, 0, #{'Requested-Action' => 0, 'Requested-Service-Unit' => units(3),
                                   'Subscription-Id' => subscriber("46701740601")}),
            loop(Ref, Session);
        {told, "nobody"} ->
            ask(session(), 4, 0, #{'Requested-Action' => 0, 'Requested-Service-Unit' => units(3),
                                   'Subscription-Id' => subscriber("46701740699")}),
            loop(Ref, Session);
        {told, "session"} ->
            Id = session(),
            ask(Id, 1, 0, #{'Subscription-Id' => subscriber("46701740602"), 'Multiple-Services-Indicator' => 1,
                            'Multiple-Services-Credit-Control' => services(units(10), none)}),
            ask(Id, 2, 1, #{'Multiple-Services-Credit-Control' => services(units(20), units(7))}),
            ask(Id, 3, 2, #{'Termination-Cause' => 1,
                            'Multiple-Services-Credit-Control' => services(none, units(15))}),
            loop(Ref, Id);
        {told, "statistics"} ->
            Counted = lists:append([Of || {_, Of} <- diameter:service_info(?SERVICE, statistics)]),
            Sum = fun(Key) -> lists:sum([N || {K, N} <- Counted, K =:= Key]) end,
            say("statistics", [{"dwr_sent", Sum({{0, 280, 1}, send})}, {"dwr_heard", Sum({{0, 280, 1}, recv})},
                               {"dwa_heard", Sum({{0, 280, 0}, recv, {'Result-Code', 2001}})},
                               {"dwa_sent", Sum({{0, 280, 0}, send, {'Result-Code', 2001}})}]),
            loop(Ref, Session);
        {told, "goodbye"} ->
            ok = diameter:remove_transport(?SERVICE, Ref),
            loop(Ref, Session)
    end.

session() -> diameter:session_id(?HOST).

units(Count) -> #{'CC-Service-Specific-Units' => [Count]}.

subscriber(Number) -> [#{'Subscription-Id-Type' => 0, 'Subscription-Id-Data' => Number}].

services(Asked, Used) ->
    All = [{'Requested-Service-Unit', Asked}, {'Used-Service-Unit', Used}],
    [maps:from_list([{'Rating-Group', [1]} | [{Name, [Units]} || {Name, Units} <- All, Units =/= none]])].

ask(Session, Type, Number, More) ->
    Request = More#{'Session-Id' => Session, 'Auth-Application-Id' => 4, 'Service-Context-Id' => "32274@3gpp.org",
                    'Destination-Realm' => ?SERVER_REALM, 'CC-Request-Type' => Type, 'CC-Request-Number' => Number},
    Listed = maps:map(fun listed/2, Request),
    case diameter:call(?SERVICE, cc, ['CCR' | Listed], [{timeout, 60000}]) of
        {ok, #{'Result-Code' := Code, 'Session-Id' := Echoed, 'CC-Request-Number' := Said} = Answer} ->
            say("answer", [{"type", Type}, {"number", Said}, {"code", Code},
                           {"echoed", iolist_to_binary(Echoed) =:= iolist_to_binary(Session)},
                           {"granted", granted(Answer)}]);
        Other ->
            say("trouble", [{"what", lists:flatten(io_lib:format("~0p", [Other]))}])
    end.

%% What is optional is a list.
listed('Requested-Action', Value) -> [Value];
listed('Termination-Cause', Value) -> [Value];
listed('Multiple-Services-Indicator', Value) -> [Value];
listed('Requested-Service-Unit', Value) -> [Value];
listed(_, Value) -> Value.

granted(#{'Granted-Service-Unit' := [Units]}) -> counted(Units);
granted(#{'Multiple-Services-Credit-Control' := [#{'Granted-Service-Unit' := [Units]} | _]}) -> counted(Units);
granted(_) -> 0.

counted(#{'CC-Service-Specific-Units' := [Count]}) -> Count;
counted(_) -> 0.

say(Event, Fields) ->
    All = [{"event", Event} | Fields],
    Each = [[$", Name, "\":", json(Value)] || {Name, Value} <- All],
    io:put_chars([${, lists:join($,, Each), "}\n"]).

json(true) -> "true";
json(false) -> "false";
json(Value) when is_integer(Value) -> integer_to_list(Value);
json(Value) -> [$", [C || C <- unicode:characters_to_list(iolist_to_binary(Value)), C =/= $", C =/= $\\, C >= 32], $"].

%% diameter's callbacks.
peer_up(_, _, State) -> State.
peer_down(_, _, State) -> State.
pick_peer([Peer | _], _, _, _) -> {ok, Peer};
pick_peer([], _, _, _) -> false.
prepare_request(#diameter_packet{msg = ['CCR' | Request]}, _, {_, Caps}) ->
    #diameter_caps{origin_host = {Host, _}, origin_realm = {Realm, _}} = Caps,
    {send, ['CCR' | Request#{'Origin-Host' => Host, 'Origin-Realm' => Realm}]}.
prepare_retransmit(Packet, _, _) -> {send, Packet}.
handle_answer(#diameter_packet{msg = ['CCA' | Answer], errors = []}, _, _, _) -> {ok, Answer};
handle_answer(#diameter_packet{msg = Msg, errors = Errors}, _, _, _) -> {unsound, Msg, Errors}.
handle_error(Reason, _, _, _) -> {error, Reason}.
handle_request(_, _, _) -> discard.
